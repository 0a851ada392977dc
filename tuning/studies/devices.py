"""The devices that a user names, for a study or to be kept for later."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.emulation.profile import MIN_MEMORY_BYTES
from benchmarks.errors import DeviceUnusable, about
from benchmarks.inventory.devices import DeviceRequest, FoundDevice, device_row, find_device
from benchmarks.models import Device, Host, Probe, ProbeState
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import DeviceKind
from tuning.errors import TuningError
from tuning.models import Study
from tuning.proposals.situation import DeviceFacts
from tuning.studies.request import BadRequest
from tuning.study_templates.loader import USUAL_TEMPLATE, load_template

MB = 1_000_000
# Of a memory limit that may be asked for.
MIN_MEMORY_MB = -(-MIN_MEMORY_BYTES // MB)
MAX_MEMORY_MB = 16_000_000
# What a server takes before it works, by resident memory: MySQL 9.7.4 with its performance schema
# 555 MB, MariaDB 10.11.19 103 MB without (its default), which leaves some for its connections.
_OWN_BYTES = {Flavour.MARIADB: 200 * MB}
_OWN_BYTES_OF_MYSQL = 550 * MB


def find_devices(
    requests: Sequence[DeviceRequest], warehouses: int, flavour: Flavour
) -> list[FoundDevice]:
    """Look at every device of a study of that size; the host's usual one where none is named.

    Raises BadRequest for a device that is named twice, DeviceUnusable, EmulationUnavailable.
    """
    limit = usual_memory(warehouses, flavour)
    found = []
    for place, request in enumerate(requests or [DeviceRequest()]):
        with about(f"devices[{place}]"):
            one = find_device(request, default=settings.DEFAULT_DEVICE, memory_bytes=limit)
        found.append(one)
    places = [
        (one.data.path, one.log and one.log.path, one.emulation and one.emulation.label())
        for one in found
    ]
    if len(set(places)) < len(places):
        raise BadRequest("devices names the same device twice", field="devices")
    return found


def facts_of(devices: Sequence[FoundDevice], *, free_bytes: int | None = None) -> DeviceFacts:
    """What holds for all of them, for proposals; rates are those of the slowest."""
    kinds = {_kind(one) for one in devices}
    turning = {one.data.rotational for one in devices}
    rates = [_rates(one) for one in devices]

    def slowest(known: Sequence[float | None]) -> float | None:
        found = [rate for rate in known if rate is not None]
        return min(found) if found and len(found) == len(known) else None

    return DeviceFacts(
        kind=kinds.pop() if len(kinds) == 1 else None,
        rotational=turning.pop() if len(turning) == 1 else None,
        write_iops=slowest([one.write_iops for one in rates]),
        read_iops=slowest([one.read_iops for one in rates]),
        commit_us=max((one.commit_us for one in rates if one.commit_us is not None), default=None),
        free_bytes=free_bytes,
    )


def _kind(device: FoundDevice) -> DeviceKind:
    if device.emulation is not None and device.emulation.throttles:
        return DeviceKind(device.emulation.kind)
    return device.data.kind


def _rates(device: FoundDevice) -> DeviceFacts:
    """By its newest probe that ended well, else by the limits of an emulated device."""
    limits = device.emulation
    probe = (
        Probe.objects.filter(
            device__host__name=settings.HOST_NAME,
            device__data_dir=str(device.data.path),
            device__emulation_label=limits.label() if limits else "",
            device__retired_at=None,
            state=ProbeState.OK,
        )
        .order_by("-pk")
        .first()
    )
    if probe is not None:
        return DeviceFacts(
            write_iops=probe.random_write_iops,
            read_iops=probe.random_read_iops,
            commit_us=probe.commit_p50_us,
        )
    if limits is not None:
        return DeviceFacts(write_iops=limits.write_iops, read_iops=limits.read_iops)
    return DeviceFacts()


def register_device(request: DeviceRequest) -> Device:
    """Keep a device to probe it and to choose it later. Raises as `find_device` does."""
    limit = usual_memory(load_template(USUAL_TEMPLATE).warehouses, Flavour.MYSQL)
    found = find_device(request, default=settings.DEFAULT_DEVICE, memory_bytes=limit)
    host, _ = Host.objects.get_or_create(name=settings.HOST_NAME)
    return device_row(host, found)


def check_none_retired(study: Study) -> None:
    """Raises TuningError, device_retired: then every further run of the study would fail."""
    if gone := study.devices.exclude(retired_at=None).first():
        raise TuningError("device_retired", f"{gone}: there is another device in its place now")


def usual_memory(warehouses: int, flavour: Flavour) -> int:
    """The memory limit of an emulated device where none is asked for, in bytes.

    The server's own needs and half of the data: with less no server starts, with more the page
    cache holds all data and no read ever meets the device.
    """
    half = _own_bytes(flavour) + estimated_bytes(warehouses) // 2
    return -(-half // (10 * MB)) * 10 * MB


def least_memory(devices: Sequence[FoundDevice]) -> int | None:
    """The limit of the device that leaves a server the least memory; None without limits."""
    limits = [one.memory_bytes for one in devices if one.memory_bytes is not None]
    return min(limits, default=None)


def room_for_pool(limit: int | None, flavour: Flavour) -> int | None:
    """What of a device's memory limit presets may be sized to; None without a limit."""
    if limit is None:
        return None
    return max(limit - _own_bytes(flavour), limit // 4)


def _own_bytes(flavour: Flavour) -> int:
    return _OWN_BYTES.get(flavour, _OWN_BYTES_OF_MYSQL)


def request_for(device: Device) -> DeviceRequest:
    """What names this device again, as it is kept: for a study on it.

    Raises DeviceUnusable when another device is in its place by now, or it is another host's.
    """
    if device.retired_at is not None:
        raise DeviceUnusable(f"{device}: there is another device in its place now")
    if device.host.name != settings.HOST_NAME:
        raise DeviceUnusable(
            f"{device}: belongs to host {device.host}; what is asked for here is measured on "
            f"{settings.HOST_NAME}"
        )
    profile = device.profile
    return DeviceRequest(
        path=device.layout.data_dir,
        log_dir=device.layout.log_dir,
        emulate=profile.name if profile else "",
        memory_bytes=profile.memory_bytes if profile else None,
        kind=DeviceKind(device.kind_correction) if device.kind_correction else None,
        limits=profile,
    )
