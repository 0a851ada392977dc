"""`manage.py study`: lists studies, and performs the actions of studies."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from advisor.management.actions import add_actions, perform_action
from advisor.management.refusals import ends_when_refused
from advisor.processes.database import prepare_database
from advisor.terminal.tables import print_studies
from tuning.actions.action import STUDY
from tuning.creation.hosts import host_for
from tuning.errors import BadRequest
from tuning.models import Study


class Command(BaseCommand):
    help = "List studies, or change the state of one study. Exits with 1 if it is refused."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add_actions(actions, STUDY)
        listed = actions.add_parser("list", help="the newest studies")
        listed.add_argument("--host", metavar="NAME", help="only those of this host")
        listed.add_argument(
            "--limit", type=int, default=50, metavar="N", help="at most so many (default: 50)"
        )
        listed.add_argument("--json", action="store_true", help="as in the API")

    def handle(self, *args: Any, **options: Any) -> None:
        with ends_when_refused(self, bad_request=2):
            prepare_database()
            if options["action"] == "list":
                _list(options)
            else:
                perform_action(self, STUDY, options)


def _list(options: dict[str, Any]) -> None:
    if options["limit"] < 1:
        raise BadRequest("--limit must be at least 1")
    rows = Study.objects.select_related("server", "host").prefetch_related("devices", "workloads")
    if options["host"] is not None:
        rows = rows.filter(host=host_for(options["host"]))
    rows = rows.order_by("-pk")[: options["limit"]]
    if options["json"]:
        from advisor.api.documents import studies_document

        json.dump(studies_document(rows), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_studies(rows, Console())
