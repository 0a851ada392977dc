"""The profiles of profiles.yaml, scaled for the real device."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Named, read_data_file
from benchmarks.emulation.profile import UNITS, EmulationProfile
from benchmarks.errors import EmulationUnavailable

_FILE = Path(__file__).parent / "profiles.yaml"
Text = Annotated[str, Field(min_length=1)]
#: The profile that holds nothing back: the device as it is, perhaps with less memory.
NATIVE = "native"


def throttles(emulate: str | None) -> bool:
    """Whether a request's `emulate` makes a slower device of it, of a kind of its own."""
    return emulate not in (None, "", NATIVE)


@dataclasses.dataclass(frozen=True)
class RealFigures:
    """The measured maxima of a device (a probe's figures); None where not measured."""

    read_iops: float | None = None
    write_iops: float | None = None
    read_mb_s: float | None = None
    write_mb_s: float | None = None


@dataclass(frozen=True, config=STRICT)
class Reference:
    """The device that `scaled` profiles are scaled from."""

    name: Literal["nvme"]
    read_iops: Count
    write_iops: Count
    read_mb_s: Count
    write_mb_s: Count
    source: Text


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
        real: RealFigures | None = None,
        *,
        memory_bytes: int | None = None,
        scale: float | None = None,
    ) -> EmulationProfile:
        """The limits to set on a device of these figures, and in `note` how they came about.

        Without figures the limits are the rated ones. Raises EmulationUnavailable when the real
        device cannot do what the profile asks for.
        """
        notes = [f"figures of {self.source}"]
        limits: dict[str, int | None] = {}
        for name, unit in UNITS.items():
            rated: int | None = getattr(self, name)
            measured: float | None = getattr(real, name) if real else None
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
    """The content of profiles.yaml, in its order."""

    reference: Reference
    profiles: Annotated[Named[str, ShippedProfile], Field(min_length=1)]


def shipped_profiles() -> Mapping[str, ShippedProfile]:
    """All of profiles.yaml by name, in its order. Raises InvalidDataFile when it is broken."""
    return _shipped().profiles


@cache
def _shipped() -> Profiles:
    return read_data_file(_FILE, Profiles)


def _two_digits(value: float) -> int:
    """4582 -> 4600: probes differ a little from day to day and limits should not."""
    return max(1, int(float(f"{value:.2g}")))
