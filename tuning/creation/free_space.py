"""The free space that a study needs on its devices, and what it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets.golden import dataset_key
from benchmarks.datasets.rules import estimated_directory_bytes
from benchmarks.datasets.tpcc import TpccSource
from benchmarks.engines.innodb import DEFAULT_PAGE_SIZE
from benchmarks.errors import DeviceUnusable, about
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import HostInventory
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.human import human_bytes

# Room for the golden copy, the clone of the current run, and what a run adds to it.
COPIES_ON_DEVICE = 2.2


@dataclass(frozen=True)
class Disk:
    """A directory for data: the bytes that a study needs there, and the bytes it may use."""

    path: Path
    needed: int
    usable: int


def disks_of(
    inventory: HostInventory,
    server: ServerBinary,
    devices: Sequence[FoundDevice],
    warehouses: int,
) -> tuple[Disk, ...]:
    """Return the directories for data. A golden copy that is there already needs no new space."""
    key = dataset_key(TpccSource(warehouses), server, DEFAULT_PAGE_SIZE)
    disks = []
    for path in dict.fromkeys(device.data.path for device in devices):
        directory = inventory.directory(path)
        copies = COPIES_ON_DEVICE - (key in directory.datasets)
        needed = int(estimated_directory_bytes(warehouses) * copies)
        disks.append(Disk(path, needed, directory.room.usable))
    return tuple(disks)


def check_free_space(
    inventory: HostInventory, devices: Sequence[FoundDevice], disks: Sequence[Disk]
) -> int:
    """Return the bytes left beside all data and the reserve on the fullest file system.

    Raises DeviceUnusable.
    """
    places = {device.data.path: place for place, device in enumerate(devices)}
    needed: Counter[int] = Counter()  # by file system: two directories may share one
    for disk in disks:
        directory = inventory.directory(disk.path)
        needed[directory.file_system] += disk.needed
        with about(f"devices[{places[disk.path]}].path"):
            directory.room.check(needed[directory.file_system])
    # A template may measure both: redo logs on a separate device and with the data.
    paths = [found.path for device in devices for found in (device.data, device.log) if found]
    directories = [inventory.directory(path) for path in paths]
    return min(one.room.usable - needed[one.file_system] for one in directories)


def check_second_dataset(
    inventory: HostInventory,
    server: ServerBinary,
    devices: Sequence[FoundDevice],
    warehouses: int,
    left: int,
) -> None:
    """Raise DeviceUnusable if a second server's golden copy does not fit into what is `left`."""
    key = dataset_key(TpccSource(warehouses), server, DEFAULT_PAGE_SIZE)
    paths = {device.data.path for device in devices}
    missing = [path for path in paths if key not in inventory.directory(path).datasets]
    needed = int(estimated_directory_bytes(warehouses)) * len(missing)
    if left < needed:
        raise DeviceUnusable(
            f"{human_bytes(max(left, 0))} left, {human_bytes(needed)} needed for the data of a "
            "second server"
        )
