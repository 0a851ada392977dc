"""`manage.py knobs_docs`: the page of docs/ that is made from the catalogue of variables."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from tuning.knob_docs.reference import reference_page


class Command(BaseCommand):
    help = "Write docs/reference/knobs.md from the catalogue of variables."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "reference" / "knobs.md").write_text(
            reference_page(), encoding="utf-8"
        )
        self.stdout.write("docs/reference/knobs.md")
