"""The resources that a config is sized for: memory, CPUs and data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Of(StrEnum):
    """The resource that a figure is a multiple of."""

    MEMORY = "memory"
    CORES = "cores"
    DATA = "data"


@dataclass(frozen=True)
class HostResources:
    """Bytes of memory, CPUs that may be used, bytes of tables and indexes."""

    memory_bytes: int
    logical_cpus: int
    data_bytes: int

    def amount(self, of: Of) -> int:
        """The amount of that resource."""
        return {
            Of.MEMORY: self.memory_bytes,
            Of.CORES: self.logical_cpus,
            Of.DATA: self.data_bytes,
        }[of]
