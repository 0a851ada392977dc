"""The devices that a user names, for a study or to be registered."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.errors import DeviceUnusable, about
from benchmarks.inventory.device_lookup import (
    DeviceSpec,
    correct_kind,
    device_row,
    find_device,
)
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Device
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import DeviceKind
from tuning.creation.device_memory import usual_memory
from tuning.creation.hosts import host_for
from tuning.models import Study
from tuning.requests.device import DeviceRequest
from tuning.studies.revision import bump
from tuning.study_templates.loader import USUAL_TEMPLATE, load_template


def register_device(request: DeviceRequest, host: str = "") -> Device:
    """Register a device of that host, to probe it or to use it later.

    Raises like `host_for` and `find_device`, and NotInspected.
    """
    spec = device_spec(request)
    row = host_for(host, [spec])
    limit = usual_memory(estimated_bytes(load_template(USUAL_TEMPLATE).warehouses), Flavour.MYSQL)
    return device_row(row, find_device(spec, inventory_of(row), memory_bytes=limit))


def set_kind(device: Device, kind: DeviceKind | None) -> None:
    """Take the user's word for what the device is; None takes it back.

    Raises DeviceUnusable for one that is emulated.
    """
    check_can_set_kind(device)
    with transaction.atomic():
        bump(Study.objects.filter(devices=device))
        correct_kind(device, kind)


def check_can_set_kind(device: Device) -> None:
    """Raise DeviceUnusable where `set_kind` would."""
    if device.is_throttled:
        raise DeviceUnusable("the kind of an emulated device cannot be changed", field="kind")


def device_specs(requests: Iterable[DeviceRequest]) -> list[DeviceSpec]:
    """Return the spec of each requested device. Raises like `device_spec`."""
    specs = []
    for index, request in enumerate(requests):
        with about(f"devices[{index}]"):
            specs.append(device_spec(request))
    return specs


def device_spec(request: DeviceRequest) -> DeviceSpec:
    """Return the spec of a requested device; a registered one has the limits of its row.

    Raises DeviceUnusable, with the field, for a registered device that is not there any more.
    """
    if request.id is not None:
        with about("id"):
            device = Device.objects.select_related("host").filter(pk=request.id).first()
            if device is None:
                raise DeviceUnusable("there is no such device")
            return spec_of(device)
    return DeviceSpec(
        path=request.path,
        log_dir=request.log_dir,
        emulate=request.emulate,
        memory_bytes=request.memory_bytes,
        kind=request.kind,
        host=request.host,
    )


def spec_of(device: Device) -> DeviceSpec:
    """Return the spec of a registered device, for a study on it.

    Raises DeviceUnusable if another device is in its place now.
    """
    if device.retired_at is not None:
        raise DeviceUnusable(f"{device}: another device is in its place now")
    profile = device.profile
    return DeviceSpec(
        path=device.layout.data_dir,
        log_dir=device.layout.log_dir,
        emulate=profile.name if profile else "",
        memory_bytes=device.memory_limit_bytes,
        kind=DeviceKind(device.kind_correction) if device.kind_correction else None,
        limits=profile,
        host=device.host.name,
    )
