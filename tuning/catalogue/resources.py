"""The resources that a config is sized for: memory, CPUs and data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import PlainValidator


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


_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?% of (data|memory)")
_PER_CORE = re.compile(r"([0-9]+(?:\.[0-9]+)?) per core")
_LIKE_A_SHARE = re.compile(r"%| of | per ")


@dataclass(frozen=True)
class Amount:
    """`text` as in an option file, or a multiple (`times`) of the data, the memory or the CPUs."""

    text: str
    of: Resource | None = None
    times: float = 0.0

    def figure(self, resources: HostResources) -> str:
        """Return the value on a host with these resources, bytes for shares; at least 1."""
        if self.of is None:
            return self.text
        return f"{max(int(resources.amount(self.of) * self.times), 1)}"


def read_amount(value: object) -> Amount:
    """Read `6 % of data`, `50 % of memory`, `2 per core` or a plain value; raises ValueError."""
    if isinstance(value, Amount):
        return value
    if isinstance(value, bool):  # YAML's reading of a plain on or off
        return Amount("ON" if value else "OFF")
    if not isinstance(value, str | int):
        raise ValueError(f"a value must be text, a whole number, on or off, not {value!r}")
    text = f"{value}".strip()
    if share := _SHARE.fullmatch(text):
        return Amount(text, Resource(share[2]), float(share[1]) / 100)
    if per_core := _PER_CORE.fullmatch(text):
        return Amount(text, Resource.CORES, float(per_core[1]))
    if _LIKE_A_SHARE.search(text):
        raise ValueError(f"{text!r} is not like `6 % of data`, `50 % of memory` or `2 per core`")
    return Amount(text)


#: A field of a data file with an amount.
WrittenAmount = Annotated[Amount, PlainValidator(read_amount)]
