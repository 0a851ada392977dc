"""Where a study's configs are to run: its request, its host and what was measured there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Max

from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import HostInventory
from benchmarks.models import JobState, Probe, Run, RunState
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.target import ServerTraits
from tuning.configs.situation import DeviceFacts, Situation
from tuning.requests.sizes import Sizes
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import ScaleModel
from tuning.studies.host_resources import facts_of_host, resources_of
from tuning.studies.named_devices import room_for_pool, smallest_memory
from tuning.study_templates.loader import StudyTemplate

_PER_HOUR = 3600 * 1_000_000


def situation_on(
    inventory: HostInventory,
    request: StudyRequest,
    template: StudyTemplate,
    sizes: Sizes,
    binary: ServerBinary,
    devices: Sequence[FoundDevice],
    room: int,
    model: ScaleModel | None = None,
) -> Situation:
    """What the values of a study's candidates depend on, with the least memory of its devices.

    `room`: bytes left beside all data, of `check_room`. Of a scale model the memory is its own.
    """
    limit, target = smallest_memory(devices), ServerTraits.of(binary)
    directories, connections = {one.data.path for one in devices}, max(sizes.connections)
    for_pool = model.model_memory_bytes if model else room_for_pool(limit, binary.flavour)
    return Situation(
        target,
        resources_of(inventory, sizes.warehouses, for_pool),
        facts_of_host(inventory, directories, connections, limit, model, target),
        DeviceFacts(free_bytes=room),
        allowed=request.allow,
        durability=max(request.durability, template.durability),
    )


def facts_of(
    host: str, devices: Sequence[FoundDevice], *, free_bytes: int | None = None
) -> DeviceFacts:
    """What holds for all of these devices of `host`.

    Rates are those of the slowest, None unless all are known.
    """
    kinds = {_kind(one) for one in devices}
    rates = [_rates(host, one) for one in devices]

    def slowest(known: Iterable[float | None]) -> float | None:
        found = list(known)
        return None if None in found else min(rate for rate in found if rate is not None)

    return DeviceFacts(
        kind=kinds.pop() if len(kinds) == 1 else None,
        write_iops=slowest(one.write_iops for one in rates),
        read_iops=slowest(one.read_iops for one in rates),
        commit_us=max((one.commit_us for one in rates if one.commit_us is not None), default=None),
        free_bytes=free_bytes,
    )


def redo_bytes_per_hour(
    host: str, devices: Iterable[FoundDevice], flavour: Flavour, warehouses: int
) -> float | None:
    """The most redo log that runs on these devices of `host` with that much data wrote.

    None without any such run.
    """
    rates = [
        Run.objects.filter(
            **_kept(host, one),
            state=RunState.OK,
            server__flavour=flavour.value,
            workload__warehouses=warehouses,
        ).aggregate(most=Max("redo_mb_s"))["most"]
        for one in devices
    ]
    known = [rate for rate in rates if rate is not None]
    return max(known) * _PER_HOUR if known else None


def _kind(device: FoundDevice) -> DeviceKind:
    if device.emulation is not None and device.emulation.throttles:
        return DeviceKind(device.emulation.kind)
    return device.data.kind


def _rates(host: str, device: FoundDevice) -> DeviceFacts:
    """By its newest probe that ended well, else by the limits of an emulated device."""
    kept = _kept(host, device)
    if device.emulation is not None and not device.emulation.throttles:
        # A limit on memory changes nothing of what the device can do.
        label = kept.pop("device__emulation_label")
        kept["device__emulation_label__in"] = [label, ""]
    probe = Probe.objects.filter(**kept, state=JobState.OK).order_by("-pk").first()
    if probe is not None:
        return DeviceFacts(
            write_iops=probe.random_write_iops,
            read_iops=probe.random_read_iops,
            commit_us=probe.commit_p50_us,
        )
    limits = device.emulation
    if limits is not None:
        return DeviceFacts(write_iops=limits.write_iops, read_iops=limits.read_iops)
    return DeviceFacts()


def _kept(host: str, device: FoundDevice) -> dict[str, Any]:
    """The lookup of what is stored for the device's row, if it has one already."""
    return {
        "device__host__name": host,
        "device__data_dir": str(device.data.path),
        "device__log_dir": str(device.log.path) if device.log else "",
        "device__emulation_label": device.emulation.label() if device.emulation else "",
        "device__retired_at": None,
    }
