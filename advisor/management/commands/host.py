"""`manage.py host`: drains a host for maintenance, and lets it take work again."""

from __future__ import annotations

import sys
from typing import Any

import psutil
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.studies.draining import drain_host, undrain_host


class Command(BaseCommand):
    help = "Drain a host or let it take work again. Exits with 1 if it is refused."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        drain = actions.add_parser("drain", help="after its current job it takes nothing more")
        drain.add_argument("--reason", default="", help="shown with every study that waits")
        actions.add_parser("undrain", help="let it take work again")
        for action in actions.choices.values():
            action.add_argument("name", metavar="NAME", help="name of the host")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            call_command("migrate", verbosity=0)
            host = _host(options["name"])
            self.stdout.write(f"Host {host} {_act(host, options)}.")
        except TuningError as error:
            self.stderr.write(f"{error.code}: {error}")
            sys.exit(1)


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
            by = f"{psutil.Process().username()} on the command line"
            drain_host(host, by=by, reason=options["reason"])
            return "is drained: its current job is finished first, its queue waits"
        case _:
            undrain_host(host)
            return "takes work again"
