"""Figures over several runs, and the ratios in a table ordered from slow to fast devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """One figure over the runs that have it: median, minimum, maximum, number of runs."""

    median: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True)
class Ratio:
    """A ratio of two devices: of the medians, and the smallest and largest of any two runs."""

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the runs of the two sides do not overlap."""
        return self.low > 1 or self.high < 1


def spread(values: Iterable[float | None]) -> Spread | None:
    """The spread of the values that exist; None if there are none."""
    there = [value for value in values if value is not None]
    return Spread(median(there), min(there), max(there), len(there)) if there else None


def ratio(slower: Spread | None, faster: Spread | None) -> Ratio | None:
    """Faster divided by slower; None if either has no figure above zero."""
    if slower is None or faster is None or slower.low <= 0 or faster.low <= 0:
        return None
    return Ratio(faster.median / slower.median, faster.low / slower.high, faster.high / slower.low)


def ladder(count: int) -> list[tuple[int, int]]:
    """The pairs of devices that the whitepaper's Table 1 compares, the slowest first.

    Each device with the next one, then every other one with the fastest: for four devices 0-1,
    1-2, 2-3, 1-3, 0-3.
    """
    steps = [(index, index + 1) for index in range(count - 1)]
    return steps + [(index, count - 1) for index in range(count - 3, -1, -1)]
