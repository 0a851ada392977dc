"""The resources of this host, for the rules of the gate and for sizing presets."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.memory import host_memory, memory_budget
from benchmarks.servers.privileges import open_files
from benchmarks.storage.direct_io import supports_direct_io
from tuning.catalogue.resources import HostResources
from tuning.configs.effective.host import HostFacts


def host_facts_here(
    devices: Collection[Path], connections: int | None, memory_limit: int | None = None
) -> HostFacts:
    """The facts of this host, for a directory on each device and that many connections.

    `memory_limit` is the lowest memory limit among the devices.
    """
    return HostFacts(
        memory_budget_bytes=_at_most(memory_limit),
        connections=connections,
        direct_io=_takes_direct_io(devices),
        logical_cpus=logical_cpus(),
        host_memory_bytes=host_memory(),
        open_files=open_files(),
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
