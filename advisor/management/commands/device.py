"""`manage.py device`: directories that may be measured here, and the actions of devices."""

from __future__ import annotations

from pathlib import Path

from advisor.management.listing import ListingCommand
from benchmarks.errors import about
from benchmarks.inventory.host import FoundDirectory, HostInventory
from benchmarks.models import Host, ListedPath
from benchmarks.storage.human import human_bytes
from benchmarks.storage.kinds import kind_words
from tuning.actions.action import DEVICE
from tuning.hosts.commands import inspect_device
from tuning.requests.device import DeviceRequest


class Command(ListingCommand):
    help = (
        "Add, list or remove directories that studies may measure on this host; "
        "probe a device or set its kind, by its ID."
    )
    subject = ListedPath.Subject.DEVICE
    metavar = "DIRECTORY"
    always = "ADVISOR_DEVICES"
    acts_on = DEVICE

    def look(self, found: HostInventory, path: Path) -> str:
        with about("path"):
            return f"Host {found.name}: studies may use {_line(found.directory(path))}"

    def lines(self, found: HostInventory) -> list[tuple[Path, str]]:
        return [(one.path, _line(one)) for one in found.directories]

    def refused(self, found: HostInventory) -> list[str]:
        return [one.reason for one in found.refused_directories]

    def inspect(self, host: Host, path: Path) -> None:
        inspect_device(host, DeviceRequest(path=path), lists=True)


def _line(there: FoundDirectory) -> str:
    found = there.identity
    what = ", ".join(
        filter(None, (kind_words(found.kind), found.model, found.block_device, found.file_system))
    )
    why = there.throttle_problem
    return (
        f"{there.path}: {what}, {human_bytes(found.free_bytes)} free"
        f"{f'; no slower device can be emulated there: {why}' if why else ''}"
    )
