"""The devices of a plan: what probes and runs found about them, and the free space on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.db.models import Max, QuerySet

from benchmarks.datasets.golden import dataset_key, estimated_directory_bytes
from benchmarks.datasets.source import DatasetSource
from benchmarks.drivers.protocol import Workload
from benchmarks.engines.innodb import DEFAULT_PAGE_SIZE
from benchmarks.errors import about
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import HostInventory
from benchmarks.models import Device, JobState, Probe, Run, RunState
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.storage.kinds import DeviceKind
from tuning.configs.situation import DeviceFacts

_PER_HOUR = 3600 * 1_000_000
# Room for the clone of the current run and what the run adds to it, beside the golden copy.
_COPIES_OF_A_RUN = 1.2


def device_facts(
    host: str, devices: Sequence[FoundDevice], *, free_bytes: int | None = None
) -> DeviceFacts:
    """Return the facts that hold for all of these devices of a host.

    Rates are those of the slowest device, None unless all are known.
    """
    kinds = {_kind(device) for device in devices}
    rates = [_rates(host, device) for device in devices]
    reads = [one.read_iops for one in rates if one.read_iops is not None]
    writes = [one.write_iops for one in rates if one.write_iops is not None]
    return DeviceFacts(
        kind=kinds.pop() if len(kinds) == 1 else None,
        write_iops=min(writes) if len(writes) == len(rates) else None,
        read_iops=min(reads) if len(reads) == len(rates) else None,
        commit_us=max((one.commit_us for one in rates if one.commit_us is not None), default=None),
        free_bytes=free_bytes,
    )


def redo_bytes_per_hour(
    host: str, devices: Iterable[FoundDevice], flavour: Flavour, workload: Workload
) -> float | None:
    """Return the most redo log that runs of that workload wrote on these devices of a host.

    None without any such run.
    """
    like = {"name": workload.name, **workload.parameters}
    runs = Run.objects.filter(
        state=RunState.OK,
        server__flavour=flavour.value,
        **{f"workload__{name}": value for name, value in like.items()},
    )
    rates = [
        runs.filter(device__in=_rows(host, device)).aggregate(most=Max("redo_mb_s"))["most"]
        for device in devices
    ]
    known = [rate for rate in rates if rate is not None]
    return max(known) * _PER_HOUR if known else None


def _kind(device: FoundDevice) -> DeviceKind:
    if device.emulation is not None and device.emulation.throttles:
        return DeviceKind(device.emulation.kind)
    return device.data.kind


def _rates(host: str, device: FoundDevice) -> DeviceFacts:
    """Return the rates of the newest good probe, else the limits of an emulated device."""
    rows = _rows(host, device)
    if device.emulation is not None and not device.emulation.throttles:
        # A limit on memory changes nothing of what the device can do.
        rows |= _rows(host, replace(device, emulation=None))
    probes = Probe.objects.filter(device__in=rows, state=JobState.OK)
    if probe := probes.order_by("-pk").first():
        return DeviceFacts(
            write_iops=probe.random_write_iops,
            read_iops=probe.random_read_iops,
            commit_us=probe.commit_p50_us,
        )
    if (limits := device.emulation) is not None:
        return DeviceFacts(write_iops=limits.write_iops, read_iops=limits.read_iops)
    return DeviceFacts()


def _rows(host: str, device: FoundDevice) -> QuerySet[Device]:
    """Return the row of the device, if it has one already."""
    return Device.objects.filter(
        host__name=host,
        data_dir=str(device.data.path),
        log_dir=str(device.log.path) if device.log else "",
        emulation_label=device.emulation.label() if device.emulation else "",
        retired_at=None,
    )


@dataclass(frozen=True)
class Disk:
    """A directory for data: the bytes that a study needs there, and the bytes it may use."""

    path: Path
    needed: int
    usable: int


@dataclass(frozen=True)
class FreeSpace:
    """The directories for data. left_bytes: free beside all data on the fullest file system."""

    disks: tuple[Disk, ...]
    left_bytes: int


def space_on(
    inventory: HostInventory,
    servers: Iterable[ServerBinary],
    devices: Sequence[FoundDevice],
    source: DatasetSource,
) -> FreeSpace:
    """Return the space that a study takes on its devices; raises DeviceUnusable without room.

    Each of the servers needs a golden copy of its own; one that is there already needs no new
    space. The reserve is never used.
    """
    keys = {dataset_key(source, server, DEFAULT_PAGE_SIZE) for server in servers}
    disks: dict[Path, Disk] = {}
    needed: Counter[int] = Counter()  # by file system: two directories may share one
    for place, device in enumerate(devices):
        directory = inventory.directory(path := device.data.path)
        if path in disks:
            continue
        copies = _COPIES_OF_A_RUN + len(keys.difference(directory.datasets))
        bytes_here = int(estimated_directory_bytes(source) * copies)
        disks[path] = Disk(path, bytes_here, directory.room.usable)
        needed[directory.file_system] += bytes_here
        with about(f"devices[{place}].path"):
            directory.room.check(needed[directory.file_system])
    # A template may measure both: redo logs on a separate device and with the data.
    paths = [found.path for device in devices for found in (device.data, device.log) if found]
    directories = [inventory.directory(path) for path in paths]
    left = min(one.room.usable - needed[one.file_system] for one in directories)
    return FreeSpace(tuple(disks.values()), left)
