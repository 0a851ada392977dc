"""`manage.py restore FILE`: makes this installation what it was when the backup was made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from advisor.management.refusals import ends_when_refused
from advisor.processes.database import migrate, migrating_alone
from advisor.upkeep.backup import restore


class Command(BaseCommand):
    help = "Replace the database with that of a backup; worker and web server must be stopped."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="made by `manage.py backup`")
        parser.add_argument(
            "--force", action="store_true", help="replace a database that is not empty"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with ends_when_refused(self):
                migrate()
                with migrating_alone():
                    restore(path, force=options["force"])
        except OSError as error:
            self.stderr.write(f"not_read: {error}")
            sys.exit(1)
        self.stdout.write(f"The database is that of {path}.")
