"""`manage.py backup FILE`: everything that cannot be made again, into one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from advisor.management.refusals import ends_when_refused
from advisor.processes.database import prepare_database
from advisor.upkeep.backup import back_up
from benchmarks.storage.human import human_bytes


class Command(BaseCommand):
    help = "Write the database and the files of this home to a new FILE, while the advisor works."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="must not exist yet")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with ends_when_refused(self):
                prepare_database()
                back_up(path)
        except OSError as error:
            self.stderr.write(f"not_written: {error}")
            sys.exit(1)
        self.stdout.write(
            f"{path} has everything but datasets and servers, "
            f"{human_bytes(path.stat().st_size)}. "
            "It holds secrets: keep it where only you can read it."
        )
