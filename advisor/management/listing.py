"""Inspect this host for a command, and list its paths by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import CommandParser

from advisor.management.actions import add_actions, perform_action
from advisor.management.command import AdvisorCommand
from advisor.management.request_options import absolute_path
from benchmarks.errors import BenchmarkError, NotListed
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.inspection import inspect_here
from benchmarks.inventory.stored import inventory_of, listed_paths, unlist_path
from benchmarks.jobs.locks import measuring_alone
from benchmarks.models import Host, ListedPath
from tuning.actions.action import Subject
from tuning.hosts.commands import inspect_again


class ListingCommand(AdvisorCommand):
    """Lists paths of this machine; run on it. Exits with 1 for one that cannot be used."""

    subject: ClassVar[ListedPath.Subject]
    metavar: ClassVar[str]
    always: ClassVar[str]
    """The setting with paths that need not be added."""
    acts_on: ClassVar[Subject | None] = None
    """Whose actions are subcommands too."""

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add = actions.add_parser("add", help="inspect it and let studies use it")
        actions.add_parser("list", help="what this host has, and what it refused")
        remove = actions.add_parser("remove", help="let no new study use it")
        for action in (add, remove):
            action.add_argument("path", type=absolute_path, metavar=self.metavar)
        if self.acts_on is not None:
            add_actions(actions, self.acts_on)

    def run(self, options: dict[str, Any]) -> None:
        host, _ = Host.objects.get_or_create(name=settings.HOST_NAME)
        match options["action"]:
            case "add":
                self._add(host, options["path"])
            case "remove":
                self._remove(host, options["path"])
            case "list":
                self._list(host)
            case _:
                assert self.acts_on is not None  # noqa: S101  # the parser knows no other
                perform_action(self, self.acts_on, options)

    def look(self, found: HostInventory, path: Path) -> str:
        """The line about that path. Raises NotListed, or why it cannot be used."""
        raise NotImplementedError

    def lines(self, found: HostInventory) -> list[tuple[Path, str]]:
        """Each path of the host with the line about it."""
        raise NotImplementedError

    def refused(self, found: HostInventory) -> list[str]:
        """Why the others cannot be used."""
        raise NotImplementedError

    def inspect(self, host: Host, path: Path) -> None:
        """Queue an inspection of that path, to be listed."""
        raise NotImplementedError

    def _add(self, host: Host, path: Path) -> None:
        with measuring_alone(patience_s=0) as alone:
            if alone:
                named = {f"{self.subject.value}s": [path]}
                self.stdout.write(self.look(inspect_here(host, **named), path))
                return
        self.inspect(host, path)
        self.stdout.write(
            f"Host {host} is measuring: {path} is inspected, and listed if it can be used, when "
            "the current job ends. "
            f"See `.venv/bin/python manage.py {self.subject.value} list` then."
        )

    def _remove(self, host: Host, path: Path) -> None:
        if not unlist_path(host, self.subject, path):
            raise NotListed(f"{path} was not added on host {host}: there is nothing to remove")
        self.stdout.write(f"Host {host}: {path} is not listed any more.")
        with measuring_alone(patience_s=0) as alone:
            if not alone:
                inspect_again(host)
                self.stdout.write("It is gone when the current job ends and the host looks again.")
            elif path in {known for known, _ in self.lines(inspect_here(host))}:
                self.stdout.write(f"The host has it anyway: it found it, or by {self.always}.")

    def _list(self, host: Host) -> None:
        found, added = inventory_of(host), set(listed_paths(host, self.subject))
        for path, line in self.lines(found):
            self.stdout.write(f"{line}{' (added)' if path in added else ''}")
        for line in self.refused(found):
            self.stdout.write(f"refused: {line}")


def look_here(servers: Sequence[Path], directories: Sequence[Path]) -> None:
    """Inspect this host, with the servers and directories that a command names.

    Who can run a command on the host may list anything there. A run that is being measured is
    not disturbed where all that is named is known.
    """
    host, _ = Host.objects.get_or_create(name=settings.HOST_NAME)
    with measuring_alone(patience_s=0) as alone:
        if alone or not _knows(host, servers, directories):
            found = inspect_here(host, servers=list(servers), devices=list(directories))
            _find_all(found, servers, directories)


def _knows(host: Host, servers: Sequence[Path], directories: Sequence[Path]) -> bool:
    try:
        _find_all(inventory_of(host), servers or [None], directories)
    except BenchmarkError:
        return False
    return True


def _find_all(
    found: HostInventory, servers: Sequence[Path | None], directories: Sequence[Path]
) -> None:
    """Raise a BenchmarkError for the first that the host does not have or has refused."""
    for server in servers:
        found.server(server)
    for directory in directories:
        found.directory(directory)
