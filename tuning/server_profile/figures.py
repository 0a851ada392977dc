"""Figures of a profile: each with its unit, or with the reason why it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass as plain_dataclass
from functools import cache
from pathlib import Path

from pydantic import Field, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.counted import percent
from benchmarks.datafiles import STRICT, Count, Named, read_data_file
from benchmarks.storage.human import human_bytes
from tuning.scale_model.sizes import size_text
from tuning.server_profile.profile import Profile, ratio

_FILE = Path(__file__).resolve().parent / "figures.yaml"


@plain_dataclass(frozen=True)
class Figure:
    """A figure of a server. `value` None is unknown, and `text` says why.

    unit: "bytes", "per second", "bytes per hour", "share", "count", "seconds" or "ms".
    ever: the mean since the server started, where that is known.
    is_tested: whether TPC-C has a load of this kind; None where the question makes no sense.
    """

    name: str
    title: str
    value: float | None
    unit: str
    text: str
    ever: str = ""
    is_tested: bool | None = None


@dataclass(frozen=True, config=STRICT)
class _Spec:
    """How a figure is made; see figures.yaml."""

    name: str
    title: str
    unit: str = ""
    of: str = ""
    variable: str = ""
    most: str = ""
    rate: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    times: Count = 1
    tested: StrictBool | None = None
    unknown: str = "the server does not tell"

    def value(self, profile: Profile) -> float | None:
        if self.rate:
            rate = profile.per_second(*self.rate)
            return None if rate is None else rate * self.times
        if self.share:
            return ratio(*(profile.grown(name) for name in self.share))
        if self.levels:
            return ratio(*(profile.second.get(name) for name in self.levels))
        if self.most:
            both = (profile.first.get(self.most), profile.second.get(self.most))
            return max((one for one in both if one is not None), default=None)
        found: float | None = (
            profile.number(self.variable) if self.variable else getattr(profile, self.of)
        )
        return found

    def figure(self, profile: Profile) -> Figure:
        unit = self.unit or ("per second" if self.rate else "share")
        value, text = self.value(profile), _TEXTS[unit]
        ever = profile.per_second_ever(*self.rate) if self.rate else None
        return Figure(
            name=self.name,
            title=self.title,
            value=value,
            unit=unit,
            text=f"unknown: {self.unknown}" if value is None else text(value),
            ever="" if ever is None else text(ever * self.times),
            is_tested=self.tested,
        )


@dataclass(frozen=True, config=STRICT)
class _Specs:
    also: tuple[str, ...]
    figures: Named[str, _Spec] = Field(min_length=1)


@cache
def _specs() -> _Specs:
    return read_data_file(_FILE, _Specs)


def figures_of(profile: Profile) -> list[Figure]:
    """Return all figures in the order in which pages show them."""
    return [one.figure(profile) for one in _specs().figures.values()]


def figure(profile: Profile, name: str) -> float | None:
    """Return the value of one figure."""
    return _specs().figures[name].value(profile)


def counters() -> set[str]:
    """The status variables that only grow while a server runs."""
    return {name for one in _specs().figures.values() for name in one.rate} | {"Uptime"}


def needed_status() -> set[str]:
    """The status variables that the figures need."""

    def named() -> Iterator[str]:
        for one in _specs().figures.values():
            yield from (*one.rate, *one.share, *one.levels, one.most)

    return {*named(), *_specs().also}


def rate_text(rate: float) -> str:
    """Return a rate with three figures, such as "3,460 per second"."""
    return f"{float(f'{rate:.3g}'):,.7g} per second"


def duration_text(seconds: float) -> str:
    """Return a duration in the largest fitting unit, such as "9 s" or "3 hours"."""
    for unit, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"


_TEXTS: dict[str, Callable[[float], str]] = {
    "bytes": size_text,
    "per second": rate_text,
    "bytes per hour": lambda value: f"{human_bytes(value)}/h",
    "share": lambda value: percent(value, 2 if value < 0.1 else 0),
    "count": lambda value: f"{value:,.0f}",
    "seconds": lambda value: f"every {duration_text(value)}",
    "ms": lambda value: f"{value:.3g} ms",
}
