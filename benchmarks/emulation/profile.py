"""Emulated devices: the limits of one server, and the profiles of profiles.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Named, Number, read_data_file
from benchmarks.errors import EmulationUnavailable
from benchmarks.storage.kinds import kind_words

_FILE = Path(__file__).parent / "profiles.yaml"
#: The profile that holds nothing back: the device as it is, perhaps with less memory.
NATIVE = "native"
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
Memory = Annotated[StrictInt, Field(ge=MIN_MEMORY_BYTES, le=MAX_MEMORY_BYTES)]
Text = Annotated[str, Field(min_length=1)]


def scale_model_text(scale: float) -> str:
    """Name a model of a server that is so many times larger: "scale model 1:200"."""
    return f"scale model 1:{scale:.0f}" if scale >= 100 else f"scale model 1:{scale:.3g}"


def throttles(emulate: str | None) -> bool:
    """Whether a request's `emulate` makes a slower device of it, of a kind of its own."""
    return emulate not in (None, "", NATIVE)


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
    memory_bytes: Memory | None = None
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

    @property
    def what(self) -> str:
        """ "emulated HDD", "scale model 1:200" or "scale model 1:200 on emulated HDD"."""
        emulated = f"emulated {kind_words(self.name)}"
        if not self.scale_text:
            return emulated
        return f"{self.scale_text} on {emulated}" if self.throttles else self.scale_text

    @property
    def scale_text(self) -> str:
        """ "scale model 1:200"; "" for another device."""
        return "" if self.scale is None else scale_model_text(self.scale)

    @property
    def limits(self) -> str:
        """The limits alone: "scale model 1:200, 200 IOPS read, 420 MB memory"."""
        return f"{self.scale_text}, {self._limits}" if self.scale_text else self._limits

    @property
    def _limits(self) -> str:
        limits = {unit: getattr(self, name) for name, unit in UNITS.items()}
        parts = [f"{limit} {unit}" for unit, limit in limits.items() if limit is not None]
        if self.memory_bytes is not None:
            parts.append(f"{self.memory_bytes / 1e6:.0f} MB memory")
        return ", ".join(parts)

    def label(self) -> str:
        """Return its label: "emulated HDD (200 IOPS read, 420 MB memory)"."""
        return f"{self.what} ({self._limits})"

    def facts(self) -> dict[str, str]:
        """Return its part of a run's fingerprint: runs under different limits never compare."""
        facts = {"emulation": self.label()}
        if self.memory_bytes is not None:
            facts["emulation_memory_bytes"] = str(self.memory_bytes)
        return facts

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for a row or a response; `EmulationProfile(**row)` reads them back."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ShippedProfile(EmulationProfile):
    """A profile as rated; `source` cites its figures, `scaled` as the head of profiles.yaml."""

    title: Text
    kind: Literal["hdd", "sata-ssd", "sas-ssd", "nvme", "other"]
    scaled: StrictBool
    source: Text
    note: Literal[""] = ""
    scale: Literal[None] = None

    def __post_init__(self) -> None:
        if not self.throttles:
            raise ValueError("limits no requests")

    def on(
        self,
        real: Mapping[str, float | None] | None = None,
        *,
        memory_bytes: int | None = None,
        scale: float | None = None,
    ) -> EmulationProfile:
        """Return the limits to set on a device, and in `note` how they came about.

        `real`: the measured maxima of the device by name of the limit; without it the limits are
        the rated ones. Raises EmulationUnavailable when the real device cannot do what the profile
        asks for.
        """
        notes = [f"figures of {self.source}"]
        limits: dict[str, int | None] = {}
        for name, unit in UNITS.items():
            rated: int | None = getattr(self, name)
            measured = real.get(name) if real else None
            limits[name] = rated
            if rated is None or measured is None:
                continue
            if self.scaled:
                reference: int = getattr(_shipped().reference, name)
                ratio = measured / reference
                if ratio < 1:
                    limits[name] = _two_digits(rated * ratio)
                    notes.append(
                        f"{unit} scaled by {ratio:.2g}: this device does {measured:.0f} where "
                        f"the reference NVMe does {reference}"
                    )
            elif measured < rated:
                raise EmulationUnavailable(
                    f"{self.name} needs {rated} {unit} and this device does only "
                    f"{measured:.0f}: a slower device cannot stand for a faster one"
                )
        if real is None:
            notes.append("the real device was not probed and may be slower than these limits")
        limits["memory_bytes"] = self.memory_bytes if memory_bytes is None else memory_bytes
        return EmulationProfile(self.name, self.kind, **limits, scale=scale, note="; ".join(notes))


@dataclass(frozen=True, config=STRICT)
class Profiles:
    """The content of profiles.yaml, in its order; `scaled` profiles scale from `reference`."""

    reference: EmulationProfile
    profiles: Annotated[Named[str, ShippedProfile], Field(min_length=1)]


def shipped_profiles() -> Mapping[str, ShippedProfile]:
    """Return all of profiles.yaml by name, in its order. Raises InvalidDataFile."""
    return _shipped().profiles


@cache
def _shipped() -> Profiles:
    return read_data_file(_FILE, Profiles)


def _two_digits(value: float) -> int:
    """4582 -> 4600: probes differ a little from day to day and limits should not."""
    return max(1, int(float(f"{value:.2g}")))
