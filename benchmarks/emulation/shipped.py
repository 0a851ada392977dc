"""The profiles of profiles.yaml, scaled to what the real device can do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import EmulationUnavailable

_HERE = Path(__file__).parent
_UNITS = {
    "read_iops": "IOPS read",
    "write_iops": "IOPS write",
    "read_mb_s": "MB/s read",
    "write_mb_s": "MB/s write",
}


@dataclass(frozen=True)
class RealFigures:
    """What a device was measured to do at most (a probe's figures); None where not measured."""

    read_iops: float | None = None
    write_iops: float | None = None
    read_mb_s: float | None = None
    write_mb_s: float | None = None


@dataclass(frozen=True)
class ShippedProfile:
    """A profile as rated; `source` cites its figures, `scaled` as the head of profiles.yaml."""

    title: str
    scaled: bool
    source: str
    rated: EmulationProfile
    reference: Mapping[str, int]

    def on(
        self, real: RealFigures | None = None, *, memory_bytes: int | None = None
    ) -> EmulationProfile:
        """The limits to set on a device of these figures, and in `note` how they came about.

        Without figures the limits are the rated ones. Raises EmulationUnavailable when the real
        device cannot do what the profile asks for.
        """
        notes = [f"figures of {self.source}"]
        limits: dict[str, Any] = {}
        for name, unit in _UNITS.items():
            rated: int | None = getattr(self.rated, name)
            measured: float | None = getattr(real, name) if real else None
            limits[name] = rated
            if rated is None or measured is None:
                continue
            if self.scaled:
                ratio = measured / self.reference[name]
                if ratio < 1:
                    limits[name] = _two_digits(rated * ratio)
                    notes.append(
                        f"{unit} scaled by {ratio:.2g}: this device does {measured:.0f} where "
                        f"the reference NVMe does {self.reference[name]}"
                    )
            elif measured < rated:
                raise EmulationUnavailable(
                    f"{self.rated.name} needs {rated} {unit} and this device does only "
                    f"{measured:.0f}: a slower device cannot stand for a faster one"
                )
        if real is None:
            notes.append("the real device was not probed and may be slower than these limits")
        memory = memory_bytes if memory_bytes is not None else self.rated.memory_bytes
        return replace(self.rated, **limits, memory_bytes=memory, note="; ".join(notes))


@cache
def shipped_profiles() -> dict[str, ShippedProfile]:
    """All of profiles.yaml by name, in its order. Raises ValueError when the file is broken."""
    return read_profiles(_HERE / "profiles.yaml")


def read_profiles(path: Path) -> dict[str, ShippedProfile]:
    """The profiles of a file. Raises ValueError naming the place that breaks the schema."""
    content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema = json.loads((_HERE / "profiles.schema.json").read_text(encoding="utf-8"))
    breach = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(content)
    )
    if breach is not None:
        place = "/".join(str(part) for part in breach.absolute_path) or "the whole file"
        raise ValueError(f"{path.name}: {place}: {breach.message}")
    reference = {name: content["reference"][name] for name in _UNITS}
    return {name: _read(name, raw, reference) for name, raw in content["profiles"].items()}


def _read(name: str, raw: dict[str, Any], reference: Mapping[str, int]) -> ShippedProfile:
    own = {key: raw.pop(key) for key in ("title", "scaled", "source")}
    return ShippedProfile(**own, rated=EmulationProfile(name=name, **raw), reference=reference)


def _two_digits(value: float) -> int:
    """4582 -> 4600: probes differ a little from day to day and limits should not."""
    return max(1, int(float(f"{value:.2g}")))
