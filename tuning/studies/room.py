"""The free space that a study needs on its devices, and what it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets.golden import DEFAULT_PAGE_SIZE, dataset_key
from benchmarks.datasets.rules import estimated_directory_bytes
from benchmarks.errors import about
from benchmarks.inventory.devices import FoundDevice
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.identify import check_usable
from benchmarks.storage.layout import DeviceLayout
from benchmarks.storage.reserve import reserve_bytes

# Room for the golden copy, the clone of the current run, and what a run adds to it.
COPIES_ON_DEVICE = 2.2


def check_room(binary: ServerBinary, devices: Sequence[FoundDevice], warehouses: int) -> int:
    """Bytes left beside all data and the reserve on the fullest file system.

    Raises DeviceUnusable.
    """
    needed: Counter[int] = Counter()  # by file system: two directories may share one
    for path, place in {one.data.path: place for place, one in enumerate(devices)}.items():
        needed[path.stat().st_dev] += _needed_bytes(binary, path, warehouses)
        with about(f"devices[{place}].path"):
            check_usable(path, needed[path.stat().st_dev])
    # A template may measure both: redo logs on a separate device and with the data.
    places = [found for device in devices for found in (device.data, device.log) if found]
    return min(
        found.free_bytes - reserve_bytes(found.total_bytes) - needed[found.path.stat().st_dev]
        for found in places
    )


def _needed_bytes(binary: ServerBinary, device: Path, warehouses: int) -> int:
    """Free space needed for the runs, and for the golden copy if there is none yet."""
    key = dataset_key(binary, warehouses, DEFAULT_PAGE_SIZE)
    is_loaded = (DeviceLayout(device).root / "datasets" / key).exists()
    copies = COPIES_ON_DEVICE - 1 if is_loaded else COPIES_ON_DEVICE
    return int(estimated_directory_bytes(warehouses) * copies)
