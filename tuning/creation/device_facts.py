"""Facts that probes and runs found about the devices of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Max

from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.models import JobState, Probe, Run, RunState
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import DeviceKind
from tuning.configs.situation import DeviceFacts

_PER_HOUR = 3600 * 1_000_000


def device_facts(
    host: str, devices: Sequence[FoundDevice], *, free_bytes: int | None = None
) -> DeviceFacts:
    """Return the facts that hold for all of these devices of a host.

    Rates are those of the slowest device, None unless all are known.
    """
    kinds = {_kind(device) for device in devices}
    rates = [_rates(host, device) for device in devices]

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
    """Return the most redo log that runs with that much data wrote on these devices of a host.

    None without any such run.
    """
    rates = [
        Run.objects.filter(
            **_lookup(host, device),
            state=RunState.OK,
            server__flavour=flavour.value,
            workload__warehouses=warehouses,
        ).aggregate(most=Max("redo_mb_s"))["most"]
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
    lookup = _lookup(host, device)
    if device.emulation is not None and not device.emulation.throttles:
        # A limit on memory changes nothing of what the device can do.
        label = lookup.pop("device__emulation_label")
        lookup["device__emulation_label__in"] = [label, ""]
    probe = Probe.objects.filter(**lookup, state=JobState.OK).order_by("-pk").first()
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


def _lookup(host: str, device: FoundDevice) -> dict[str, Any]:
    """Return the condition for rows of the device, whether or not it has a row already."""
    return {
        "device__host__name": host,
        "device__data_dir": str(device.data.path),
        "device__log_dir": str(device.log.path) if device.log else "",
        "device__emulation_label": device.emulation.label() if device.emulation else "",
        "device__retired_at": None,
    }
