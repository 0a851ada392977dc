"""`manage.py dataset`: the golden datasets of this host, and the actions on datasets."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from advisor.management.actions import add_actions, perform_action
from advisor.management.command import AdvisorCommand
from benchmarks.counted import counted
from benchmarks.models import Host
from benchmarks.storage.human import human_bytes
from tuning.actions.action import DATASET
from tuning.studies.datasets import datasets_here, prunable


class Command(AdvisorCommand):
    help = "List the golden datasets of this host; let a host delete one, or those not used."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        actions.add_parser("list", help="size, last use and server of each")
        add_actions(actions, DATASET)

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] == "list":
            self._list(Host.objects.get_or_create(name=settings.HOST_NAME)[0])
        else:
            perform_action(self, DATASET, options)

    def _list(self, host: Host) -> None:
        found, goes = datasets_here(host), dict(prunable(host, settings.DATASET_DAYS))
        for one in found:
            used = timezone.localtime(one.dataset.used_at)
            needed = f", needed by study {one.needed_by}" if one.needed_by is not None else ""
            self.stdout.write(
                f"{one.dataset.key}  {human_bytes(one.dataset.bytes)}, last used {used:%Y-%m-%d}, "
                f"server {one.dataset.server_version}, on {one.device}{needed}"
                f"{f'; prune deletes it: {goes[one]}' if one in goes else ''}"
            )
        total = human_bytes(sum(one.dataset.bytes for one in found))
        self.stdout.write(f"{counted(len(found), 'dataset')}, {total}")
