"""`manage.py profile`: lists profiles of real servers, and performs their actions."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from advisor.management.actions import add_actions, perform_action
from advisor.management.command import AdvisorCommand
from tuning.actions.action import PROFILE
from tuning.studies.server_profiles import newest_profiles


class Command(AdvisorCommand):
    help = (
        "List the stored profiles of real servers, or delete one; `manage.py attach` makes them. "
        "Exits with 1 if it is refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add_actions(actions, PROFILE)
        actions.add_parser("list", help="the newest profiles")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] != "list":
            perform_action(self, PROFILE, options)
            return
        for row in newest_profiles():
            self.stdout.write(f"{row.pk}  {row.created_at:%Y-%m-%d %H:%M}  {row.name}")
