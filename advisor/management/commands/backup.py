"""`manage.py backup FOLDER`: everything that cannot be made again, into one new folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from advisor.management.refusals import ends_when_refused
from advisor.processes.database import prepare_database
from advisor.upkeep.backup import back_up


class Command(BaseCommand):
    help = "Copy the database and the files of this home to a new FOLDER, while the advisor works."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path, help="must not exist yet")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        try:
            with ends_when_refused(self):
                prepare_database()
                back_up(folder)
        except OSError as error:
            self.stderr.write(f"not_written: {error}")
            sys.exit(1)
        self.stdout.write(
            f"{folder} has everything but datasets and servers. "
            "It holds secrets: keep it where only you can read it."
        )
