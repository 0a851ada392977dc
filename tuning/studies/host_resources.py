"""The resources of this host, for the rules of the gate and for sizing presets."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from math import ceil
from pathlib import Path

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.memory import host_memory, memory_budget
from benchmarks.servers.privileges import open_files
from benchmarks.storage.direct_io import supports_direct_io
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.host import HostFacts
from tuning.configs.effective.memory import MAX_SHARE, memory_need
from tuning.scale_model.model import ScaleModel


def host_facts_here(
    devices: Collection[Path],
    connections: int | None,
    memory_limit: int | None = None,
    model: ScaleModel | None = None,
    target: ServerTraits | None = None,
) -> HostFacts:
    """The facts of this host, for a directory on each device and that many connections.

    `memory_limit` is the lowest memory limit among the devices. In the scale model `model`, of the
    server `target`, the budget is the model's memory and what its connections need beside it.
    """
    facts = HostFacts(
        memory_budget_bytes=_at_most(memory_limit),
        connections=connections,
        direct_io=_takes_direct_io(devices),
        logical_cpus=logical_cpus(),
        host_memory_bytes=host_memory(),
        open_files=open_files(),
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


def real_host_facts(here: HostFacts, model: ScaleModel) -> HostFacts:
    """The facts of the real server, as far as they are stated; its device is like ours."""
    return replace(
        here,
        memory_budget_bytes=model.memory_bytes,
        host_memory_bytes=model.memory_bytes,
        pool_chunk_bytes=None,
    )


def resources_here(warehouses: int, memory_limit: int | None = None) -> HostResources:
    """This host's memory and CPUs, and the size of the data for that many warehouses."""
    return HostResources(
        memory_bytes=_at_most(memory_limit),
        logical_cpus=logical_cpus(),
        data_bytes=estimated_bytes(warehouses),
    )


def _takes_direct_io(devices: Collection[Path]) -> bool | None:
    """Whether all devices support direct I/O; None if it is unknown."""
    answers = [supports_direct_io(device) for device in devices]
    if False in answers:
        return False
    return True if answers and None not in answers else None


def _at_most(limit: int | None) -> int:
    budget = memory_budget()
    return budget if limit is None else min(budget, limit)


def logical_cpus() -> int:
    """The CPUs that this process may use, as limited by a container."""
    return len(os.sched_getaffinity(0))
