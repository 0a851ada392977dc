"""Figures that a reader lays beside each other after the fact: spreads, ratios, newest figures.

What a study concludes is in `analysis`: it judges all its candidates at once, before anybody chose
some of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, geometric_mean, median, variance
from typing import Final, NamedTuple, TypeVar

from tuning.statistics.compare import ALPHA, critical_value
from tuning.statistics.estimate import Estimate

Key = TypeVar("Key", bound=Hashable)

#: So many figures are the newest of a series; as many have to come before them.
NEWEST: Final = 5
# Runs or blocks from which an interval can be computed at all.
_MIN_RUNS = 2


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


def mean_interval(values: Sequence[float], alpha: float = ALPHA) -> tuple[float, float] | None:
    """Where the geometric mean of such runs lies, by Student's t on the logs; None below two."""
    if len(values) < _MIN_RUNS:
        return None
    logs = [*map(log, values)]
    reach = _reach(_variance_of_mean(logs), len(logs) - 1, alpha)
    return exp(fmean(logs) - reach), exp(fmean(logs) + reach)


def ratio_of(
    first: Mapping[Key, float], other: Mapping[Key, float], alpha: float = ALPHA
) -> Estimate | None:
    """`other` divided by `first`; None if either has no run.

    The keys say what belongs together, such as the block of a study. Where keys are in both, the
    ratio is that within them: what drifts over hours falls out; of one alone there is no interval.
    Else it is Welch's, of two independent sets of runs. For several comparisons with one `first`,
    divide `alpha`.
    """
    if not first or not other:
        return None
    if both := [key for key in first if key in other]:
        samples = [[log(other[key]) - log(first[key]) for key in both]]
        centre = fmean(samples[0])
    else:
        samples = [[*map(log, there.values())] for there in (first, other)]
        centre = fmean(samples[1]) - fmean(samples[0])
    if min(map(len, samples)) < _MIN_RUNS:
        return Estimate(ratio=exp(centre))
    parts = [_variance_of_mean(logs) for logs in samples]
    squares = sum(part**2 / (len(logs) - 1) for part, logs in zip(parts, samples, strict=True))
    df = sum(parts) ** 2 / squares if squares else 1.0
    return Estimate.of_gain(centre, _reach(sum(parts), df, alpha), alpha)


def _variance_of_mean(logs: Sequence[float]) -> float:
    return variance(logs) / len(logs)


def _reach(spread: float, df: float, alpha: float) -> float:
    # No run of ours is a millionfold of another: with one degree of freedom the reach may be.
    return min(float(critical_value(alpha, df)) * sqrt(spread), 50.0)


class ShortRun(NamedTuple):
    """A short run of a search; `figure` is above zero, None without one."""

    round: int
    is_baseline: bool
    figure: float | None


def round_ratios(runs: Sequence[ShortRun]) -> list[float | None]:
    """The ratio of each run to the baseline of its round (geometric mean), in the order of `runs`.

    None without a figure on either side.
    """
    levels: dict[int, list[float]] = {}
    for run in runs:
        if run.is_baseline and run.figure is not None:
            levels.setdefault(run.round, []).append(run.figure)
    means = {number: geometric_mean(found) for number, found in levels.items()}
    return [
        run.figure / means[run.round] if run.figure is not None and run.round in means else None
        for run in runs
    ]


@dataclass(frozen=True)
class Recent:
    """The median of the newest figures, divided by the median of the `before` figures before.

    `low` and `high` are the smallest and the largest of the figures before, in the same unit.
    """

    ratio: float
    before: int
    low: float
    high: float

    @property
    def is_outside(self) -> bool:
        """Whether the newest median lies where no figure lay before."""
        return not self.low <= self.ratio <= self.high


def compare_recent(series: Sequence[float]) -> Recent | None:
    """Compare the newest figures, oldest first; None for too few. All are above zero.

    The comparison describes and does not test. Figures of months are autocorrelated, so a test
    that takes them for independent would promise a rate of false alarms that it does not keep.
    """
    if len(series) < 2 * NEWEST:
        return None
    before, newest = series[:-NEWEST], series[-NEWEST:]
    usual = median(before)
    return Recent(median(newest) / usual, len(before), min(before) / usual, max(before) / usual)
