"""`manage.py config`: checks a my.cnf line by line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from advisor.management.command import AdvisorCommand
from advisor.management.listing import look_here
from advisor.processes.database import prepare_database
from advisor.terminal.tables import print_check
from tuning.catalogue.target import parse_traits
from tuning.configs.parse import read_cnf
from tuning.creation.config_check import check_text
from tuning.errors import BadRequest
from tuning.requests.configs import ORIGIN_HELP


class Command(AdvisorCommand):
    help = (
        "Check a my.cnf: the fate of each line in a study and in an exported file. Nothing is "
        "stored. Exits with 1 if a line is refused, and with 2 if an option makes no sense."
    )
    senseless_status = 2
    needs_tables = False

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        check = actions.add_parser("check", help="the fate of each line of a file")
        check.add_argument("file", metavar="FILE", type=Path)
        check.add_argument(
            "--target", metavar="SERVER", help="such as mysql-8.4; default: that of the host"
        )
        check.add_argument("--host", metavar="NAME", default="", help="whose server counts")
        check.add_argument("--translate-from", metavar="SERVER", default="", help=ORIGIN_HELP)
        check.add_argument(
            "--connections", type=int, metavar="N", help="at the same time, at most"
        )
        check.add_argument("--json", action="store_true", help="as in the API")

    def run(self, options: dict[str, Any]) -> None:
        target = None
        if options["target"] is not None:
            try:
                target = parse_traits(options["target"])
            except ValueError as error:
                raise BadRequest(f"--target is {error}") from None
        else:
            prepare_database()
            if not options["host"]:
                look_here([], [])
        file: Path = options["file"]
        checked = check_text(
            read_cnf(file),
            name=file.name,
            target=target,
            host=options["host"],
            translate_from=options["translate_from"],
            connections=options["connections"],
        )
        if options["json"]:
            from advisor.api.schemas.configs import CheckedConfig

            self.write_json(CheckedConfig.from_orm(checked).model_dump(mode="json"))
        else:
            print_check(checked, Console())
        if checked.report.problems:
            sys.exit(1)
