"""`manage.py study`: lists studies, and performs the actions of studies."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from advisor.management.actions import add_actions, perform_action
from advisor.management.command import AdvisorCommand
from advisor.terminal.report import print_study
from advisor.terminal.tables import print_studies
from tuning.actions.action import STUDY
from tuning.creation.hosts import host_for
from tuning.errors import BadRequest
from tuning.models import Study
from tuning.stored_documents import document_of


class Command(AdvisorCommand):
    help = "List studies, or change the state of one study. Exits with 1 if it is refused."
    senseless_status = 2

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add_actions(actions, STUDY)
        listed = actions.add_parser("list", help="the newest studies")
        listed.add_argument("--host", metavar="NAME", help="only those of this host")
        listed.add_argument(
            "--limit", type=int, default=50, metavar="N", help="at most so many (default: 50)"
        )
        listed.add_argument("--archived", action="store_true", help="those off the lists")
        shown = actions.add_parser("show", help="rankings and answers of one study")
        shown.add_argument("study", type=int, metavar="ID")
        for parser_of in (listed, shown):
            parser_of.add_argument("--json", action="store_true", help="as in the API")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] == "list":
            self._list(options)
        elif options["action"] == "show":
            self._show(options)
        else:
            perform_action(self, STUDY, options)

    def _show(self, options: dict[str, Any]) -> None:
        study = Study.objects.filter(pk=options["study"]).first()
        if study is None:
            raise BadRequest(f"there is no study {options['study']}")
        document = document_of(study)
        if options["json"]:
            self.write_json(document.model_dump(mode="json"))
        else:
            print_study(document, Console())

    def _list(self, options: dict[str, Any]) -> None:
        if options["limit"] < 1:
            raise BadRequest("--limit must be at least 1")
        rows = Study.objects.filter(archived_at__isnull=not options["archived"])
        rows = rows.select_related("server", "host")
        if options["host"] is not None:
            rows = rows.filter(host=host_for(options["host"]))
        rows = rows.prefetch_related("devices", "workloads").order_by("-pk")[: options["limit"]]
        if options["json"]:
            from advisor.api.schemas.studies import StudyRow

            self.write_json([StudyRow.from_orm(row).model_dump(mode="json") for row in rows])
        else:
            print_studies(rows, Console())
