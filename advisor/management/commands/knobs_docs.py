"""`manage.py knobs_docs`: the pages of docs/ that are made from the catalogue of variables."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from tuning.knob_docs.reference import reference_page
from tuning.knob_docs.whitepaper import whitepaper_page

PAGES = {"knobs.md": reference_page, "whitepaper-parameters.md": whitepaper_page}


class Command(BaseCommand):
    help = "Write docs/knobs.md and docs/whitepaper-parameters.md from the catalogue of variables."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for name, page in PAGES.items():
            (settings.BASE_DIR / "docs" / name).write_text(page(), encoding="utf-8")
            self.stdout.write(f"docs/{name}")
