"""What a config meets on this host, for the rules of the gate and for sizing presets."""

from __future__ import annotations

import os

import psutil

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.servers.privileges import OPEN_FILES
from tuning.configs.circumstances import Circumstances
from tuning.configs.resources import HostResources


def circumstances_here(connections: int | None) -> Circumstances:
    """This host under a workload that opens so many connections."""
    memory = psutil.virtual_memory().total
    return Circumstances(
        memory_budget_bytes=memory,
        connections=connections,
        logical_cpus=_logical_cpus(),
        host_memory_bytes=memory,
        open_files=OPEN_FILES,
    )


def resources_here(warehouses: int) -> HostResources:
    """This host's memory and processors, and the size of so many warehouses of data."""
    return HostResources(
        memory_bytes=psutil.virtual_memory().total,
        logical_cpus=_logical_cpus(),
        data_bytes=estimated_bytes(warehouses),
    )


def _logical_cpus() -> int:
    """Those that this process may use: what a container is given."""
    return len(os.sched_getaffinity(0))
