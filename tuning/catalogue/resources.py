"""The resources that a config is sized for: memory, CPUs and data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Resource(StrEnum):
    """The resource that a figure is a multiple of."""

    MEMORY = "memory"
    CORES = "cores"
    DATA = "data"


class Scales(StrEnum):
    """The resource that a knob's value is proportional to, between servers with the same load.

    Values of `none` depend on the device or on nothing. Those of `write-rate` and `cores` change
    with the load and the CPUs, which are the same in a scale model.
    """

    MEMORY = "memory"
    DATA = "data"
    WRITE_RATE = "write-rate"
    CORES = "cores"
    NONE = "none"


@dataclass(frozen=True)
class HostResources:
    """Bytes of memory, CPUs that may be used, bytes of tables and indexes."""

    memory_bytes: int
    logical_cpus: int
    data_bytes: int

    def amount(self, of: Resource) -> int:
        """The amount of that resource."""
        return {
            Resource.MEMORY: self.memory_bytes,
            Resource.CORES: self.logical_cpus,
            Resource.DATA: self.data_bytes,
        }[of]
