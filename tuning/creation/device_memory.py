"""Find the devices of a plan; a scale model or a limit of their own decides on their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.errors import about
from benchmarks.inventory.device_lookup import DeviceSpec, FoundDevice, find_device
from benchmarks.inventory.host import HostInventory
from benchmarks.servers.binary import Flavour
from tuning.errors import BadRequest
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import MB, size_text

# Resident memory of an idle server: MySQL 9.7.4 with performance schema 555 MB, MariaDB 10.11.19
# without (its default) 103 MB, plus some for connections.
_OWN_BYTES = {Flavour.MARIADB: 200 * MB}
_OWN_BYTES_OF_MYSQL = 550 * MB


def find_devices(
    requests: Sequence[DeviceSpec],
    inventory: HostInventory,
    data_bytes: int,
    flavour: Flavour,
    model: ScaleModel | None = None,
) -> list[FoundDevice]:
    """Return every device as its host found it, for a study of that size.

    Without `requests` it is the host's usual device. With `model` each has the memory of that
    scale model. Raises BadRequest for a device that is named twice or whose memory contradicts
    the model, NotListed, DeviceUnusable, EmulationUnavailable.
    """
    limit = usual_memory(data_bytes, flavour)
    found = []
    for index, request in enumerate(requests or [DeviceSpec()]):
        modelled = _in_model(request, index, model)
        with about(f"devices[{index}]"):
            found.append(find_device(modelled, inventory, memory_bytes=limit))
    distinct = {
        (one.data.path, one.log and one.log.path, one.emulation and one.emulation.label())
        for one in found
    }
    if len(distinct) < len(found):
        raise BadRequest("devices names the same device twice", field="devices")
    return found


def _in_model(request: DeviceSpec, index: int, model: ScaleModel | None) -> DeviceSpec:
    """Return the device with the memory of the model; raises BadRequest if it has another."""
    kept = request.limits
    field = f"devices[{index}]" if kept else f"devices[{index}].memory_mb"
    if model is None:
        if kept is not None and kept.scale is not None:
            raise BadRequest(
                f"the device is a {kept.scale_text}: state the data size and the memory of the "
                "real server again, or choose the device without limits",
                field=field,
            )
        return request
    is_same = kept is not None and kept.scale == model.scale
    if is_same and request.memory_bytes == model.limit_bytes:
        return request
    if request.memory_bytes is not None:
        raise BadRequest(
            f"a memory limit of {size_text(request.memory_bytes)} contradicts the {model.title} "
            f"of the stated server, which has {size_text(model.limit_bytes)}: leave out one",
            field=field,
        )
    if not model.limits_memory:
        return request
    return replace(request, memory_bytes=model.limit_bytes, scale=model.scale)


def usual_memory(data_bytes: int, flavour: Flavour) -> int:
    """Return the default memory limit of an emulated device, in bytes.

    The server's own needs and half of the data: with less no server starts, with more the page
    cache holds all data and no read reaches the device.
    """
    half = own_bytes(flavour) + data_bytes // 2
    return -(-half // (10 * MB)) * 10 * MB


def smallest_memory(devices: Sequence[FoundDevice]) -> int | None:
    """Return the lowest memory limit among the devices; None without limits."""
    limits = [one.memory_bytes for one in devices if one.memory_bytes is not None]
    return min(limits, default=None)


def room_for_pool(limit: int | None, flavour: Flavour) -> int | None:
    """Return the part of a device's memory limit that presets may use; None without a limit."""
    if limit is None:
        return None
    return max(limit - own_bytes(flavour), limit // 4)


def own_bytes(flavour: Flavour) -> int:
    """Return the bytes that an idle server of that flavour needs beside its buffer pool."""
    return _OWN_BYTES.get(flavour, _OWN_BYTES_OF_MYSQL)
