"""`manage.py server`: the server programs that may be started on this host."""

from __future__ import annotations

from pathlib import Path

from advisor.management.listing import ListingCommand
from benchmarks.errors import about
from benchmarks.inventory.host import HostInventory
from benchmarks.models import Host, ListedPath
from benchmarks.servers.binary import ServerBinary
from tuning.hosts.commands import inspect_server


class Command(ListingCommand):
    help = "Add, list or remove server programs that studies may start on this host."
    subject = ListedPath.Subject.SERVER
    metavar = "PATH_TO_MYSQLD"
    always = "ADVISOR_SERVERS"

    def look(self, found: HostInventory, path: Path) -> str:
        with about("server"):
            return f"Host {found.name}: studies may use {_line(found.server(path))}"

    def lines(self, found: HostInventory) -> list[tuple[Path, str]]:
        return [(one.path, _line(one)) for one in found.servers]

    def refused(self, found: HostInventory) -> list[str]:
        return [one.reason for one in found.refused_servers]

    def inspect(self, host: Host, path: Path) -> None:
        inspect_server(host, str(path), lists=True)


def _line(binary: ServerBinary) -> str:
    return f"{binary.path}: {binary.flavour} {binary.version_text}, sha256 {binary.digest[:12]}"
