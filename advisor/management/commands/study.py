"""`manage.py study`: lists studies, and changes one: pause, resume, cancel and more."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from advisor.management.refusals import (
    by_and_reason,
    caller,
    check_may_change,
    ends_when_refused,
)
from advisor.processes.database import prepare_database
from advisor.terminal.tables import print_studies
from tuning.errors import TuningError
from tuning.models import Study
from tuning.studies.concluding import conclude_study
from tuning.studies.hosts import host_for
from tuning.studies.lifecycle import cancel_study, extend_study
from tuning.studies.pausing import pause_study, resume_study
from tuning.studies.request import BadRequest
from tuning.studies.taking_apart import take_apart_study


class Command(BaseCommand):
    help = (
        "List studies; pause, resume, conclude, cancel or extend one, or take its winner apart. "
        "Exits with 1 if it is refused."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        pause = actions.add_parser("pause", help="pause it after the current run")
        pause.add_argument("--reason", default="", help="reason, shown with the study")
        actions.add_parser("resume", help="continue a paused study")
        actions.add_parser(
            "conclude", help="measure only what an answer from the results so far needs, then end"
        )
        actions.add_parser("cancel", help="stop it within seconds; results are kept")
        extend = actions.add_parser("extend", help="measure more blocks of a finished study")
        extend.add_argument("--blocks", type=int, required=True, metavar="N")
        actions.add_parser(
            "take-apart", help="measure a confirmed winner without some of its lines"
        )
        for action in actions.choices.values():
            action.add_argument("id", type=int, metavar="ID", help="number of the study")
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
                return
            pk = options["id"]
            study = Study.objects.filter(pk=pk).first()
            if study is None:
                raise TuningError("not_found", f"there is no study {pk}")
            check_may_change(study)
            self.stdout.write(f"Study {pk} {_act(study, options)}.")


def _list(options: dict[str, Any]) -> None:
    if options["limit"] < 1:
        raise BadRequest("--limit must be at least 1")
    rows = Study.objects.select_related("server", "host").prefetch_related("devices", "workloads")
    if options["host"] is not None:
        rows = rows.filter(host=host_for(options["host"]))
    rows = rows.order_by("-pk")[: options["limit"]]
    if options["json"]:
        from advisor.api.documents import studies_document  # the REST framework

        json.dump(studies_document(rows), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_studies(rows, Console())


def _act(study: Study, options: dict[str, Any]) -> str:
    """Do what was requested; returns the result in words."""
    by = caller()
    match options["action"]:
        case "pause":
            pause_study(study, **by_and_reason(options))
            return "is paused; the current run is finished first"
        case "resume":
            resume_study(study, by=by)
            return "continues as soon as its host is free"
        case "conclude":
            conclude_study(study, by=by)
            when = "when it is resumed" if study.is_paused else "now"
            return f"is concluded {when}: its best are confirmed, then it ends"
        case "cancel":
            cancel_study(study, by=by)
            return "is being cancelled; results are kept"
        case "take-apart":
            take_apart_study(study, by=by)
            return "takes its winner apart and is then concluded again"
        case _:
            extend_study(study, options["blocks"], by=by)
            return (
                f"will measure up to {options['blocks']} more blocks and then be concluded again"
            )
