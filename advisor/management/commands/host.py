"""`manage.py host`: lists hosts, renames one, and performs the actions of hosts."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from advisor.management.actions import (
    add_actions,
    check_may_change,
    find_row,
    perform_action,
)
from advisor.management.command import AdvisorCommand
from advisor.terminal.tables import print_hosts
from benchmarks.jobs.presence import rename_host
from tuning.actions.action import HOST
from tuning.hosts.known import hosts, known_hosts
from tuning.models import Study
from tuning.studies.revision import bump


class Command(AdvisorCommand):
    help = "List hosts, or change one host. Exits with 1 if it is refused."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add_actions(actions, HOST)
        rename = actions.add_parser("rename", help="give it another name; its history stays")
        rename.add_argument("row", metavar="NAME", help="name of the host")
        rename.add_argument("new_name", metavar="NEW", help="its new name")
        listed = actions.add_parser("list", help="what each does, what waits, what is wrong")
        listed.add_argument("--json", action="store_true", help="as in the API")

    def run(self, options: dict[str, Any]) -> None:
        match options["action"]:
            case "list":
                self._list(as_json=options["json"])
            case "rename":
                self._rename(options["row"], options["new_name"])
            case _:
                perform_action(self, HOST, options)

    def _rename(self, name: str, new_name: str) -> None:
        host = find_row(HOST, name)
        check_may_change(host)
        rename_host(host, new_name)
        # Workloads are named after the host that drives them.
        bump(Study.objects.filter(workloads__load_host=host))
        self.stdout.write(
            f"Host {name} is {host} now: start its worker with ADVISOR_HOST_NAME={host}."
        )

    def _list(self, *, as_json: bool) -> None:
        known = known_hosts(hosts())
        if as_json:
            from advisor.api.schemas.hosts import Host

            self.write_json([Host.from_orm(one).model_dump(mode="json") for one in known])
        else:
            print_hosts(known, Console())
