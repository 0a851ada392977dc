"""`manage.py host`: lists hosts; drains, renames and retires one."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console

from advisor.management.refusals import by_and_reason, check_may_change, ends_when_refused
from advisor.processes.database import prepare_database
from advisor.terminal.tables import print_hosts
from benchmarks.jobs.presence import rename_host
from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.models import Study
from tuning.results.known_hosts import hosts, known_hosts
from tuning.studies.host_state import (
    drain_host,
    retire_host,
    undrain_host,
    unretire_host,
)
from tuning.studies.revision import bump


class Command(BaseCommand):
    help = "List hosts; drain, rename or retire one. Exits with 1 if it is refused."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        drain = actions.add_parser("drain", help="after its current job it takes nothing more")
        drain.add_argument("--reason", default="", help="shown with every study that waits")
        actions.add_parser("undrain", help="let it take work again")
        rename = actions.add_parser("rename", help="give it another name; its history stays")
        retire = actions.add_parser("retire", help="end its studies and begin nothing there")
        retire.add_argument("--reason", default="", help="shown with every study that it ends")
        actions.add_parser("unretire", help="let a retired host take work again")
        for action in actions.choices.values():
            action.add_argument("name", metavar="NAME", help="name of the host")
        listed = actions.add_parser("list", help="what each does, what waits, what is wrong")
        listed.add_argument("--json", action="store_true", help="as in the API")
        rename.add_argument("new_name", metavar="NEW", help="its new name")

    def handle(self, *args: Any, **options: Any) -> None:
        with ends_when_refused(self):
            prepare_database()
            if options["action"] == "list":
                _list(as_json=options["json"])
                return
            host = _host(options["name"])
            check_may_change(host)
            self.stdout.write(f"Host {options['name']} {_act(host, options)}.")


def _list(*, as_json: bool) -> None:
    known = known_hosts(hosts())
    if as_json:
        from advisor.api.documents import hosts_document  # the REST framework

        json.dump(hosts_document(known), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_hosts(known, Console())


def _host(name: str) -> Host:
    """The host of that name. Raises TuningError, not_found, with the names that there are."""
    host = Host.objects.filter(name=name).first()
    if host is None:
        known = ", ".join(Host.objects.order_by("name").values_list("name", flat=True))
        raise TuningError("not_found", f"there is no host {name!r}; known: {known or 'none'}")
    return host


def _act(host: Host, options: dict[str, Any]) -> str:
    """Do what was requested; returns the result in words."""
    match options["action"]:
        case "drain":
            drain_host(host, **by_and_reason(options))
            return "is drained: its current job is finished first, its queue waits"
        case "rename":
            rename_host(host, options["new_name"])
            # Workloads are named after the hosts that drive them.
            bump(Study.objects.filter(workloads__load_hosts=host))
            return f"is {host} now: start its worker with ADVISOR_HOST_NAME={host}"
        case "retire":
            retire_host(host, **by_and_reason(options))
            return "is retired: its studies have ended, its history stays"
        case "unretire":
            unretire_host(host)
            return "takes work again"
        case _:
            undrain_host(host)
            return "takes work again"
