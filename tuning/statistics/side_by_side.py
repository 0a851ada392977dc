"""Two or more sets of runs side by side: the mean of each and the ratio of two, with intervals.

For figures that a reader lays beside each other after the fact. What a study concludes is in
`analysis`: it judges all its candidates at once, before anybody chose some of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import exp, fsum, log, sqrt
from statistics import fmean
from typing import TypeVar

import numpy as np

from tuning.statistics import critical
from tuning.statistics.analysis import Interval
from tuning.statistics.compare import ALPHA

Key = TypeVar("Key", bound=Hashable)

#: Runs or blocks from which an interval can be computed at all.
MIN_RUNS = 2


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean of the logs, as a figure; None without values. All must be above zero."""
    return exp(fmean(map(log, values))) if len(values) else None


def mean_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval | None:
    """Where the geometric mean of such runs lies, by Student's t on the logs; None below two."""
    return _interval([*map(log, values)], alpha) if len(values) >= MIN_RUNS else None


def ratio_of(
    first: Mapping[Key, float], other: Mapping[Key, float], alpha: float = ALPHA
) -> tuple[float, Interval | None] | None:
    """`other` divided by `first`, and the interval of that ratio; None if either has no run.

    The keys say what belongs together, such as the block of a study. Where keys are in both, the
    ratio is that within them: what drifts over hours falls out; of one alone there is no interval.
    Else it is Welch's, of two independent sets of runs. For several comparisons with one `first`,
    divide `alpha`.
    """
    if not first or not other:
        return None
    both = [key for key in first if key in other]
    if both:
        logs = [log(other[key]) - log(first[key]) for key in both]
        return exp(fmean(logs)), _interval(logs, alpha) if len(both) >= MIN_RUNS else None
    one, two = ([*map(log, there.values())] for there in (first, other))
    centre = fmean(two) - fmean(one)
    if min(len(one), len(two)) < MIN_RUNS:
        return exp(centre), None
    parts = _variance_of_mean(one), _variance_of_mean(two)
    spread = sum(parts)
    if spread == 0:
        return exp(centre), Interval(exp(centre), exp(centre), 1 - alpha)
    df = spread**2 / (parts[0] ** 2 / (len(one) - 1) + parts[1] ** 2 / (len(two) - 1))
    return exp(centre), _around(centre, sqrt(spread), df, alpha)


def _interval(logs: Sequence[float], alpha: float) -> Interval:
    return _around(fmean(logs), sqrt(_variance_of_mean(logs)), len(logs) - 1, alpha)


def _variance_of_mean(logs: Sequence[float]) -> float:
    # A handful of runs: to make arrays of them takes several times as long.
    mean = fmean(logs)
    return fsum((one - mean) ** 2 for one in logs) / (len(logs) - 1) / len(logs)


def _around(centre: float, error: float, df: float, alpha: float) -> Interval:
    # No run of ours is a millionfold of another: with one degree of freedom the reach may be.
    reach = min(float(critical.single(alpha, np.array(df))) * error, 50.0)
    return Interval(exp(centre - reach), exp(centre + reach), 1 - alpha)
