"""`manage.py backup FOLDER`: everything that cannot be made again, into one new folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from advisor.management.command import AdvisorCommand
from advisor.upkeep.backup import back_up


class Command(AdvisorCommand):
    help = "Copy the database and the files of this home to a new FOLDER, while the advisor works."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", type=Path, help="must not exist yet")

    def run(self, options: dict[str, Any]) -> None:
        folder: Path = options["folder"]
        try:
            back_up(folder)
        except OSError as error:
            self.fail(f"not_written: {error}")
        self.stdout.write(
            f"{folder} has everything but datasets and servers. "
            "It holds secrets: keep it where only you can read it."
        )
