"""What a config is sized to: the memory, the processors and the data that are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Of(StrEnum):
    """What a figure is a factor of, where people think of it that way."""

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
        """How much there is of it."""
        return {
            Of.MEMORY: self.memory_bytes,
            Of.CORES: self.logical_cpus,
            Of.DATA: self.data_bytes,
        }[of]
