"""`manage.py version`: the version of the code, for bug reports."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from advisor.version import version
from benchmarks.jobs.versions import code_commit


class Command(BaseCommand):
    help = "Print the version, and the commit if this is a git checkout."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(" ".join(filter(None, [version(), code_commit()])))
