"""The sizes of a plan, from its request, template and profile, and its scale model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.counted import counted
from benchmarks.emulation.profile import throttles
from benchmarks.inventory.device_lookup import DeviceSpec
from benchmarks.inventory.host import HostInventory
from benchmarks.servers.binary import Flavour
from tuning.creation.devices import own_bytes
from tuning.creation.real_server import RealServer
from tuning.errors import BadRequest
from tuning.requests.load import MAX_WAREHOUSES, Sizes
from tuning.requests.study import StudyRequest
from tuning.scale_model.model import WAREHOUSE_BYTES, ScaleModel
from tuning.scale_model.sizes import MB, size_text
from tuning.server_profile.figures import figure
from tuning.server_profile.profile import Profile
from tuning.study_templates.loader import YOUR_SERVER, StudyTemplate

# A connection needs this much beside the buffers that a server has anyway.
_CONNECTION_BYTES = 1 * MB
# TPC-C waits for nobody: each connection is as busy as many of a real application's.
_CONNECTIONS_PER_CPU = 16


def sizes_of(
    request: StudyRequest,
    template: StudyTemplate,
    inventory: HostInventory,
    real: RealServer | None,
) -> tuple[Sizes, RealServer | None]:
    """Return the sizes; the profiled server then says where its connections come from."""
    changes: dict[str, Any] = {}
    if real is not None and request.connections is None:
        connections, why = _connections_at_peak(real.profile, template, inventory.logical_cpus)
        changes["connections"] = [connections]
        real = replace(real, connections=why)
    data_size, memory = request.data_size, request.memory
    is_fitted = real is not None or template.name == YOUR_SERVER
    if is_fitted and request.warehouses is None and data_size and memory:
        model = ScaleModel(data_size, memory, template.warehouses, 0)
        most = min(model.max_warehouses(inventory.memory_budget_bytes), MAX_WAREHOUSES)
        found = max(min(max(template.warehouses, model.min_warehouses), most), 1)
        changes["warehouses"] = found
    sized = request.model_copy(update=changes)
    return sized.sizes(template, inventory.logical_cpus), real


def _connections_at_peak(profile: Profile, template: StudyTemplate, cpus: int) -> tuple[int, str]:
    """Return the connections to drive, and where they come from."""
    most = _CONNECTIONS_PER_CPU * cpus
    peak = figure(profile, "peak")
    if not peak:
        found = max(template.connections_on(cpus))
        return found, f"{counted(found, 'connection')}: the profile does not know the peak"
    found = max(min(int(peak), most), 1)
    why = f"{peak:,.0f} connections at peak"
    if found < peak:
        each = f"{_CONNECTIONS_PER_CPU} for each of {counted(cpus, 'CPU')}"
        why += f", of which {found} are driven: {each}"
    return found, why


def model_of(
    inventory: HostInventory,
    request: StudyRequest,
    devices: Sequence[DeviceSpec],
    sizes: Sizes,
    flavour: Flavour,
) -> ScaleModel | None:
    """Return the scale model that is asked for, None for a study that is none.

    Raises BadRequest with what cannot be modelled on that host, and what could be.
    """
    data_size, memory = request.data_size, request.memory
    if data_size is None and memory is None:
        return None
    if data_size is None:
        raise BadRequest("memory is of no use without the size of the data", field="data_size")
    if memory is None:
        raise BadRequest("the size of the data is of no use without the memory", field="memory")
    is_emulated = any(throttles(one.emulate) for one in devices)
    model = ScaleModel(
        data_bytes=data_size,
        memory_bytes=memory,
        warehouses=sizes.workload.parameters["warehouses"],
        own_bytes=own_bytes(flavour) + max(sizes.connections) * _CONNECTION_BYTES,
        # Only the buffer pool is scaled where control groups are missing.
        limits_memory=is_emulated or not inventory.memory_limit_problem,
    )
    _check_size(model, inventory.memory_budget_bytes)
    return model


def _check_size(model: ScaleModel, memory_bytes: int) -> None:
    """Raise BadRequest for a model that has more data than the server, or no room in memory."""
    if model.data_bytes < WAREHOUSE_BYTES:
        raise BadRequest(
            f"{size_text(model.data_bytes)} is less than one warehouse "
            f"({size_text(WAREHOUSE_BYTES)}): the data is too small for a scale model",
            field="data_size",
        )
    least = model.min_warehouses
    most = min(model.max_warehouses(memory_bytes), MAX_WAREHOUSES)
    share = f"{size_text(model.memory_bytes)} for {size_text(model.data_bytes)}"
    most_text = (
        f"with {size_text(memory_bytes)} of memory here and no more data than stated, at most "
        f"{most:,} are possible"
    )
    if least > most:
        raise BadRequest(
            f"{share} cannot be modelled on this host: a server of that proportion needs at "
            f"least {least:,} warehouses, and {most_text}",
            field="memory",
        )
    if not least <= model.warehouses <= most:
        raise BadRequest(
            f"{model.warehouses} warehouses do not suit {share}: use at least {least:,} "
            f"warehouses; {most_text}",
            field="warehouses",
        )
