"""What a config meets on this host, for the rules of the gate and for sizing presets."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.datasets.rules import estimated_bytes
from benchmarks.directio import supports_direct_io
from benchmarks.memory import host_memory, memory_budget
from benchmarks.servers.privileges import open_files
from tuning.configs.circumstances import Circumstances
from tuning.configs.resources import HostResources


def circumstances_here(device: Path | None, connections: int | None) -> Circumstances:
    """This host, a directory on the device and a workload that opens so many connections."""
    return Circumstances(
        memory_budget_bytes=memory_budget(),
        connections=connections,
        direct_io=supports_direct_io(device) if device else None,
        logical_cpus=logical_cpus(),
        host_memory_bytes=host_memory(),
        open_files=open_files(),
    )


def resources_here(warehouses: int) -> HostResources:
    """This host's memory and processors, and the size of so many warehouses of data."""
    return HostResources(
        memory_bytes=memory_budget(),
        logical_cpus=logical_cpus(),
        data_bytes=estimated_bytes(warehouses),
    )


def logical_cpus() -> int:
    """Those that this process may use: what a container is given."""
    return len(os.sched_getaffinity(0))
