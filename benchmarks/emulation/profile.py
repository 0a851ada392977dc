"""What an emulated device may do, and the words by which everything calls it emulated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

#: Smaller than any mysqld: such a limit is a slip of the keyboard (MB typed where bytes go).
LEAST_MEMORY_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class EmulationProfile:
    """Upper limits for one server; None is unlimited.

    `kind` is the kind of device it stands for ("hdd"). IOPS count requests as they reach the
    block device, a flush being one of the writes; 1 MB is 10**6 bytes. `memory_bytes` limits all
    memory of the server, the page cache of the files it reads and writes included. `note` says
    where the limits come from; it tells no two profiles apart.
    """

    name: str
    kind: str = "other"
    read_iops: int | None = None
    write_iops: int | None = None
    read_mb_s: int | None = None
    write_mb_s: int | None = None
    memory_bytes: int | None = None
    note: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a profile that limits nothing or that no device can have."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is not a profile's name: a-z, 0-9 and - only")
        limits = [self.read_iops, self.write_iops, self.read_mb_s, self.write_mb_s]
        for limit in (*limits, self.memory_bytes):
            if limit is not None and (type(limit) is not int or limit < 1):
                raise ValueError(f"{self.name}: a limit is a whole number above 0, not {limit!r}")
        if not self.throttles and self.memory_bytes is None:
            raise ValueError(f"{self.name} limits nothing")
        if self.memory_bytes is not None and self.memory_bytes < LEAST_MEMORY_BYTES:
            raise ValueError(
                f"{self.name}: {self.memory_bytes} bytes of memory are too few for any server"
            )

    @property
    def throttles(self) -> bool:
        """Whether requests to the device are limited, not only memory."""
        limits = (self.read_iops, self.write_iops, self.read_mb_s, self.write_mb_s)
        return any(limit is not None for limit in limits)

    def label(self, on: str = "") -> str:
        """ "emulated hdd (200 IOPS read, 200 IOPS write, 420 MB memory) on vda"."""
        parts = [
            f"{limit} {unit}"
            for limit, unit in (
                (self.read_iops, "IOPS read"),
                (self.write_iops, "IOPS write"),
                (self.read_mb_s, "MB/s read"),
                (self.write_mb_s, "MB/s write"),
            )
            if limit is not None
        ]
        if self.memory_bytes is not None:
            parts.append(f"{self.memory_bytes / 1e6:.0f} MB memory")
        return f"emulated {self.name} ({', '.join(parts)})" + (f" on {on}" if on else "")

    def facts(self) -> dict[str, str]:
        """What goes into a run's fingerprint: runs under different limits never compare."""
        facts = {"emulation": self.label()}
        if self.memory_bytes is not None:
            facts["emulation_memory_bytes"] = str(self.memory_bytes)
        return facts

    def as_dict(self) -> dict[str, Any]:
        """For a row or a response; `from_dict` reads it back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EmulationProfile:
        """Raises ValueError for unknown keys, a missing name or limits that cannot be."""
        unknown = set(data) - {field.name for field in fields(cls)}
        if unknown or "name" not in data:
            wrong = ", ".join(sorted(map(str, unknown))) or "no name"
            raise ValueError(f"not an emulation profile: {wrong}")
        return cls(**data)
