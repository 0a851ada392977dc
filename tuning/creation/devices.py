"""The devices that a user names: each as its host found it, with a limit on its memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db import transaction

from benchmarks.datasets.tpcc import estimated_bytes
from benchmarks.errors import DeviceUnusable, about
from benchmarks.inventory.device_lookup import (
    DeviceSpec,
    FoundDevice,
    correct_kind,
    device_row,
    find_device,
)
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Device
from benchmarks.servers.binary import Flavour
from benchmarks.storage.kinds import DeviceKind
from tuning.creation.hosts import host_for
from tuning.errors import BadRequest
from tuning.models import Study
from tuning.requests.device import DeviceRequest
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import MB, size_text
from tuning.studies.revision import bump
from tuning.study_templates.loader import USUAL_TEMPLATE, load_template

# Resident memory of an idle server: MySQL 9.7.4 with performance schema 555 MB, MariaDB 10.11.19
# without (its default) 103 MB, plus some for connections.
_OWN_BYTES = {Flavour.MARIADB: 200 * MB}
_OWN_BYTES_OF_MYSQL = 550 * MB


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
    if request.id is None:
        fields = ("path", "log_dir", "emulate", "memory_bytes", "kind", "host")
        return DeviceSpec(**{name: getattr(request, name) for name in fields})
    with about("id"):
        device = Device.objects.select_related("host").filter(pk=request.id).first()
        if device is None:
            raise DeviceUnusable("there is no such device")
        return spec_of(device)


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


def find_devices(
    specs: Sequence[DeviceSpec],
    inventory: HostInventory,
    data_bytes: int,
    flavour: Flavour,
    model: ScaleModel | None = None,
) -> list[FoundDevice]:
    """Return every device as its host found it, for a study of that size.

    Without `specs` it is the host's usual device. With `model` each has the memory of that scale
    model. Raises BadRequest for a device that is named twice or whose memory contradicts the
    model, NotListed, DeviceUnusable, EmulationUnavailable.
    """
    limit = usual_memory(data_bytes, flavour)
    found = []
    for index, spec in enumerate(specs or [DeviceSpec()]):
        modelled = _in_model(spec, index, model)
        with about(f"devices[{index}]"):
            found.append(find_device(modelled, inventory, memory_bytes=limit))
    distinct = {
        (one.data.path, one.log and one.log.path, one.emulation and one.emulation.label())
        for one in found
    }
    if len(distinct) < len(found):
        raise BadRequest("devices names the same device twice", field="devices")
    return found


def _in_model(spec: DeviceSpec, index: int, model: ScaleModel | None) -> DeviceSpec:
    """Return the device with the memory of the model; raises BadRequest if it has another."""
    kept, field = spec.limits, f"devices[{index}]"
    if model is None:
        if kept is not None and kept.scale is not None:
            raise BadRequest(
                f"the device is a {kept.scale_text}: state the data size and the memory of the "
                "real server again, or choose the device without limits",
                field=field,
            )
        return spec
    if spec.memory_bytes is None:
        if not model.limits_memory:
            return spec
        return replace(spec, memory_bytes=model.limit_bytes, scale=model.scale)
    if kept is None or (kept.scale, spec.memory_bytes) != (model.scale, model.limit_bytes):
        raise BadRequest(
            f"a memory limit of {size_text(spec.memory_bytes)} contradicts the {model.title} "
            f"of the stated server, which has {size_text(model.limit_bytes)}: leave out one",
            field=field if kept else f"{field}.memory_mb",
        )
    return spec


def usual_memory(data_bytes: int, flavour: Flavour) -> int:
    """Return the default memory limit of an emulated device, in bytes.

    The server's own needs and half of the data: with less no server starts, with more the page
    cache holds all data and no read reaches the device.
    """
    half = own_bytes(flavour) + data_bytes // 2
    return -(-half // (10 * MB)) * 10 * MB


def room_for_pool(limit: int | None, flavour: Flavour) -> int | None:
    """Return the part of a device's memory limit that presets may use; None without a limit."""
    return None if limit is None else max(limit - own_bytes(flavour), limit // 4)


def own_bytes(flavour: Flavour) -> int:
    """Return the bytes that an idle server of that flavour needs beside its buffer pool."""
    return _OWN_BYTES.get(flavour, _OWN_BYTES_OF_MYSQL)


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
