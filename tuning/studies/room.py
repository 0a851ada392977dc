"""The free space that a study needs on its devices, and what it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets.golden import dataset_key
from benchmarks.datasets.options import DEFAULT_PAGE_SIZE
from benchmarks.datasets.rules import estimated_directory_bytes
from benchmarks.errors import DeviceUnusable, about
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import FoundDirectory, HostInventory
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.human import human_bytes

# Room for the golden copy, the clone of the current run, and what a run adds to it.
COPIES_ON_DEVICE = 2.2


def check_room(
    inventory: HostInventory,
    binary: ServerBinary,
    devices: Sequence[FoundDevice],
    warehouses: int,
) -> int:
    """Bytes left beside all data and the reserve on the fullest file system.

    Raises DeviceUnusable.
    """
    key = dataset_key(binary, warehouses, DEFAULT_PAGE_SIZE)
    needed: Counter[int] = Counter()  # by file system: two directories may share one
    for path, place in {one.data.path: place for place, one in enumerate(devices)}.items():
        there = inventory.directory(path)
        needed[there.file_system] += _needed_bytes(there, key, warehouses)
        with about(f"devices[{place}].path"):
            there.room.check(needed[there.file_system])
    # A template may measure both: redo logs on a separate device and with the data.
    places = [found.path for device in devices for found in (device.data, device.log) if found]
    found = [inventory.directory(path) for path in places]
    return min(one.room.usable - needed[one.file_system] for one in found)


def needed_on(
    inventory: HostInventory,
    binary: ServerBinary,
    devices: Sequence[FoundDevice],
    warehouses: int,
) -> list[tuple[Path, int, int]]:
    """Of each directory that is measured: the bytes needed there, and those that may be used."""
    key = dataset_key(binary, warehouses, DEFAULT_PAGE_SIZE)
    paths = dict.fromkeys(one.data.path for one in devices)
    found = [(path, inventory.directory(path)) for path in paths]
    return [
        (path, _needed_bytes(there, key, warehouses), there.room.usable) for path, there in found
    ]


def check_second_dataset(
    inventory: HostInventory,
    binary: ServerBinary,
    devices: Sequence[FoundDevice],
    warehouses: int,
    room: int,
) -> None:
    """Raise DeviceUnusable if a second server's golden copy does not fit into what is left."""
    key = dataset_key(binary, warehouses, DEFAULT_PAGE_SIZE)
    paths = {one.data.path for one in devices}
    missing = [path for path in paths if key not in inventory.directory(path).datasets]
    needed = int(estimated_directory_bytes(warehouses)) * len(missing)
    if room < needed:
        raise DeviceUnusable(
            f"{human_bytes(max(room, 0))} left, {human_bytes(needed)} needed for the data of a "
            "second server"
        )


def _needed_bytes(there: FoundDirectory, key: str, warehouses: int) -> int:
    """Free space needed for the runs, and for the golden copy if there is none yet."""
    copies = COPIES_ON_DEVICE - 1 if key in there.datasets else COPIES_ON_DEVICE
    return int(estimated_directory_bytes(warehouses) * copies)
