"""The limits of an emulated device, its label and its words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictInt
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Number
from benchmarks.storage.kinds import kind_words

#: Smaller than any mysqld: such a limit is a slip of the keyboard (MB typed where bytes go).
MIN_MEMORY_BYTES = 64 * 1024 * 1024
#: More than any machine has.
MAX_MEMORY_BYTES = 16 * 10**12
#: The limits of requests, in words.
UNITS = {
    "read_iops": "IOPS read",
    "write_iops": "IOPS write",
    "read_mb_s": "MB/s read",
    "write_mb_s": "MB/s write",
}


def scale_model_text(scale: float) -> str:
    """ "scale model 1:200", of a server so many times larger."""
    return f"scale model 1:{scale:.0f}" if scale >= 100 else f"scale model 1:{scale:.3g}"


def _possible(memory_bytes: int) -> int:
    if memory_bytes < MIN_MEMORY_BYTES:
        raise ValueError(f"{memory_bytes} bytes of memory are too few for any server")
    if memory_bytes > MAX_MEMORY_BYTES:
        raise ValueError(f"{memory_bytes} bytes of memory are more than any server has")
    return memory_bytes


@dataclass(frozen=True, config=STRICT)
class EmulationProfile:
    """Upper limits for one server; None is unlimited. Raises ValueError for what cannot be.

    `kind` is the kind of device it stands for ("hdd"). IOPS count requests as they reach the
    block device, a flush being one of the writes; 1 MB is 10**6 bytes. `memory_bytes` limits all
    memory of the server, the page cache of the files it reads and writes included. `scale`: of a
    scale model, how many times larger the real server is. `note` says where the limits come from;
    profiles that differ in it alone are equal.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    kind: str = "other"
    read_iops: Count | None = None
    write_iops: Count | None = None
    read_mb_s: Count | None = None
    write_mb_s: Count | None = None
    memory_bytes: Annotated[StrictInt, AfterValidator(_possible)] | None = None
    scale: Annotated[Number, Field(gt=0)] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if not self.throttles and self.memory_bytes is None:
            raise ValueError(f"{self.name} limits nothing")
        if self.scale is not None and self.memory_bytes is None:
            raise ValueError("a scale model needs a memory limit")

    @property
    def throttles(self) -> bool:
        """Whether requests to the device are limited, not only memory."""
        return any(getattr(self, name) is not None for name in UNITS)

    def label(self) -> str:
        """Its label in rows and fingerprints: "emulated hdd (200 IOPS read, 420 MB memory)".

        The label of a scale model is "scale model 1:200 (790 MB memory)", or "scale model 1:200
        on emulated hdd (...)".
        """
        return f"{self._what(self.name)} ({', '.join(self._limits)})"

    def text(self, on: str = "") -> str:
        """The label for people: "emulated HDD (200 IOPS read, 420 MB memory) on vda"."""
        return f"{self.what} ({', '.join(self._limits)})" + (f" on {on}" if on else "")

    @property
    def what(self) -> str:
        """ "emulated HDD", "scale model 1:200" or "scale model 1:200 on emulated HDD"."""
        return self._what(kind_words(self.name))

    @property
    def limits(self) -> str:
        """The limits alone: "200 IOPS read, 420 MB memory"."""
        return ", ".join([self.scale_text, *self._limits] if self.scale_text else self._limits)

    @property
    def _limits(self) -> list[str]:
        limits = {unit: getattr(self, name) for name, unit in UNITS.items()}
        parts = [f"{limit} {unit}" for unit, limit in limits.items() if limit is not None]
        if self.memory_bytes is not None:
            parts.append(f"{self.memory_bytes / 1e6:.0f} MB memory")
        return parts

    def _what(self, name: str) -> str:
        emulated = f"emulated {name}"
        if self.scale is None:
            return emulated
        return f"{self.scale_text} on {emulated}" if self.throttles else self.scale_text

    @property
    def scale_text(self) -> str:
        """ "scale model 1:200"; "" for another device."""
        return "" if self.scale is None else scale_model_text(self.scale)

    def facts(self) -> dict[str, str]:
        """Its part of a run's fingerprint: runs under different limits never compare."""
        facts = {"emulation": self.label()}
        if self.memory_bytes is not None:
            facts["emulation_memory_bytes"] = str(self.memory_bytes)
        return facts

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for a row or a response; `EmulationProfile(**row)` reads them back."""
        return asdict(self)
