"""`manage.py dataset`: the golden datasets of this host: list, delete, prune."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from advisor.management.command import AdvisorCommand
from benchmarks.counted import counted
from benchmarks.models import Host
from benchmarks.storage.human import human_bytes
from tuning.studies.datasets import datasets_here, delete_dataset, prune_datasets


class Command(AdvisorCommand):
    help = "List, delete or prune the golden datasets of this host. Exits with 1 if refused."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        actions.add_parser("list", help="size, last use and server of each")
        delete = actions.add_parser("delete", help="delete one; it is loaded again when needed")
        delete.add_argument("key", metavar="NAME", help="as in the list")
        prune = actions.add_parser("prune", help="delete what has not been used for long")
        prune.add_argument(
            "--days",
            type=int,
            default=settings.DATASET_DAYS,
            help="days without use; 0: only where the server is gone (default: %(default)s)",
        )
        prune.add_argument("--dry-run", action="store_true", help="only say what would go")

    def run(self, options: dict[str, Any]) -> None:
        host, _ = Host.objects.get_or_create(name=settings.HOST_NAME)
        actions = {"list": self._list, "delete": self._delete, "prune": self._prune}
        actions[options["action"]](host, options)

    def _list(self, host: Host, _: dict[str, Any]) -> None:
        found = datasets_here(host)
        for one in found:
            used = timezone.localtime(one.dataset.used_at)
            needed = f", needed by study {one.needed_by}" if one.needed_by is not None else ""
            self.stdout.write(
                f"{one.dataset.key}  {human_bytes(one.dataset.bytes)}, last used {used:%Y-%m-%d}, "
                f"server {one.dataset.server_version}, on {one.device}{needed}"
            )
        total = human_bytes(sum(one.dataset.bytes for one in found))
        self.stdout.write(f"{counted(len(found), 'dataset')}, {total}")

    def _delete(self, host: Host, options: dict[str, Any]) -> None:
        for one in delete_dataset(host, options["key"]):
            self.stdout.write(
                f"{one.dataset.path} was deleted ({human_bytes(one.dataset.bytes)})."
            )

    def _prune(self, host: Host, options: dict[str, Any]) -> None:
        found = prune_datasets(host, options["days"], only_say=options["dry_run"])
        will = "would be deleted" if options["dry_run"] else "was deleted"
        for one, why in found:
            self.stdout.write(f"{one.dataset.path} {will}: {why}")
        if not found:
            self.stdout.write("Nothing to prune.")
