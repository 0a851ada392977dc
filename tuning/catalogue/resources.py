"""What a config is sized to: the memory, the processors and the data that are at hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HostResources:
    """Bytes of memory, CPUs that may be used, bytes of tables and indexes."""

    memory_bytes: int
    logical_cpus: int
    data_bytes: int
