"""Where the level of a series changes: steps, and slow drift as the steps that describe it best.

The series is split where the means before and after differ most, in standard errors, and each part
again, as long as the difference exceeds what one split in a hundred series without a change
exceeds (binary segmentation; Scott and Knott 1974). The noise is that of successive differences,
by their median, so that neither a change nor a stray point counts as noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp

import numpy as np
from numpy.typing import NDArray

from tuning.statistics.analysis import Interval
from tuning.statistics.side_by_side import ratio_of

Floats = NDArray[np.float64]

#: Points of the shortest part that a change is seen in.
MIN_PART = 3
#: Points from which a change can be seen at all.
MIN_POINTS = 2 * MIN_PART
ALPHA = 0.01

_SAMPLES = 4000
_SEED = 1974
# Median of the absolute difference of two standard normals.
_MEDIAN_DIFFERENCE = 0.9539
_TINY = 1e-9


@dataclass(frozen=True)
class Level:
    """The points from `begin` up to `end`, which is not among them, and their geometric mean.

    `ratio`: to the level before, with its 95 % interval; 1 and None for the first. The interval is
    that of two sets of points; it does not know that the place between them was searched for.
    """

    begin: int
    end: int
    mean: float
    ratio: float = 1.0
    interval: Interval | None = None

    @property
    def points(self) -> int:
        return self.end - self.begin


def levels(series: Sequence[float]) -> list[Level]:
    """The levels of a series of figures above zero, in order: one where nothing changed."""
    if not len(series):
        return []
    logs = np.log(series)
    found: list[Level] = []
    for begin, end in pairwise((0, *change_points(logs.tolist()), len(series))):
        mean = exp(logs[begin:end].mean())
        if not found:
            found.append(Level(begin, end, mean))
            continue
        before = series[found[-1].begin : begin]
        found.append(Level(begin, end, mean, *ratio_between(before, series[begin:end])))
    return found


def ratio_between(
    before: Sequence[float], after: Sequence[float]
) -> tuple[float, Interval | None]:
    """The geometric mean `after` by that `before`, with its interval (Welch); neither is empty."""
    found = ratio_of(dict(enumerate(before)), dict(enumerate(after, start=len(before))))
    if found is None:
        raise ValueError("a level has at least one point")
    return found


def change_points(series: Sequence[float], alpha: float = ALPHA) -> list[int]:
    """The index of the first point after each change, in order.

    alpha: how often a series without a change is said to have one.
    """
    y = np.asarray(series, dtype=float)
    if len(y) < MIN_POINTS:
        return []
    index, size = (found[0] for found in _strongest(y[None]))
    if size <= _bound_near(len(y), alpha):
        return []
    split = int(index)
    # Each part is judged alone: two tests more, so half of the rate for each.
    before = change_points(series[:split], alpha / 2)
    after = change_points(series[split:], alpha / 2)
    return [*before, split, *(split + one for one in after)]


def _strongest(y: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Of each series, (series, points), the best split and its difference in standard errors."""
    points = y.shape[1]
    splits = np.arange(MIN_PART, points - MIN_PART + 1)
    total = y.cumsum(axis=1)
    before = total[:, splits - 1] / splits
    after = (total[:, -1:] - total[:, splits - 1]) / (points - splits)
    noise = np.median(np.abs(np.diff(y, axis=1)), axis=1) / _MEDIAN_DIFFERENCE
    error = np.maximum(noise, _TINY)[:, None] * np.sqrt(1 / splits + 1 / (points - splits))
    size = np.abs(after - before) / error
    best = size.argmax(axis=1)
    return splits[best], np.take_along_axis(size, best[:, None], axis=1)[:, 0]


def _bound_near(points: int, alpha: float) -> float:
    """Of the two lengths around it that bounds are kept for the higher bound.

    A series grows by a point with each study, and a bound takes tens of milliseconds.
    """
    step = 1 << max(points.bit_length() - 5, 0)
    around = {points // step * step, -(-points // step) * step}
    return max(_bound(length, alpha) for length in around)


@lru_cache(maxsize=1024)
def _bound(points: int, alpha: float) -> float:
    """What the best split of a series without a change exceeds in `alpha` of simulated ones."""
    drawn = np.random.default_rng(_SEED).standard_normal((_SAMPLES, points))
    return float(np.quantile(_strongest(drawn)[1], 1 - alpha))
