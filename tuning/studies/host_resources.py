"""The resources of a host, for the rules of the gate and for sizing presets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import ceil
from pathlib import Path

from benchmarks.errors import DeviceUnusable, NotListed
from benchmarks.inventory.host import HostInventory
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import Expected, HostFacts
from tuning.configs.memory import MAX_SHARE, memory_need
from tuning.scale_model.model import ScaleModel


def facts_of_host(
    inventory: HostInventory,
    devices: Collection[Path | None],
    connections: int | None,
    memory_limit: int | None = None,
    model: ScaleModel | None = None,
    target: ServerTraits | None = None,
) -> HostFacts:
    """The facts of that host, for a directory on each device and that many connections.
    None is the host's usual directory.

    `memory_limit` is the lowest memory limit among the devices. In the scale model `model`, of the
    server `target`, the budget is the model's memory and what its connections need beside it.
    """
    facts = HostFacts(
        memory_budget_bytes=_at_most(memory_limit, inventory),
        connections=connections,
        direct_io=_takes_direct_io(devices, inventory),
        logical_cpus=inventory.logical_cpus,
        host_memory_bytes=inventory.memory_bytes,
        open_files=inventory.open_files,
    )
    if model is None or target is None:
        return facts
    need = memory_need(Expected({}, target, facts))
    beside = 0 if need is None else need.total(connections or 0) - need.pool
    return replace(
        facts,
        memory_budget_bytes=model.model_memory_bytes + ceil(beside / MAX_SHARE),
        pool_chunk_bytes=model.chunk_bytes(target),
    )


def resources_of(
    inventory: HostInventory, data_bytes: int, memory_limit: int | None = None
) -> HostResources:
    """That host's memory and CPUs, and the size of the data."""
    return HostResources(
        memory_bytes=_at_most(memory_limit, inventory),
        logical_cpus=inventory.logical_cpus,
        data_bytes=data_bytes,
    )


def _takes_direct_io(devices: Collection[Path | None], inventory: HostInventory) -> bool | None:
    """Whether all devices support direct I/O; None if it is unknown."""
    answers = [_direct_io_at(device, inventory) for device in devices]
    if False in answers:
        return False
    return True if answers and None not in answers else None


def _direct_io_at(device: Path | None, inventory: HostInventory) -> bool | None:
    try:
        return inventory.directory(device).direct_io
    except (DeviceUnusable, NotListed):
        return None


def _at_most(limit: int | None, inventory: HostInventory) -> int:
    budget = inventory.memory_budget_bytes
    return budget if limit is None else min(budget, limit)
