"""Two or more sets of runs side by side: the mean of each and the ratio of two, with intervals.

For figures that a reader lays beside each other after the fact. What a study concludes is in
`analysis`: it judges all its candidates at once, before anybody chose some of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import exp
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tuning.statistics import critical
from tuning.statistics.analysis import Interval
from tuning.statistics.compare import ALPHA

Key = TypeVar("Key", bound=Hashable)

#: Runs or blocks from which an interval can be computed at all.
MIN_RUNS = 2


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean of the logs, as a figure; None without values. All must be above zero."""
    return float(np.exp(np.log(values).mean())) if len(values) else None


def mean_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval | None:
    """Where the geometric mean of such runs lies, by Student's t on the logs; None below two."""
    return _interval(np.log(values), alpha) if len(values) >= MIN_RUNS else None


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
        logs = np.log([other[key] for key in both]) - np.log([first[key] for key in both])
        return exp(logs.mean()), _interval(logs, alpha) if len(both) >= MIN_RUNS else None
    one, two = (np.log(list(there.values())) for there in (first, other))
    centre = float(two.mean() - one.mean())
    if min(one.size, two.size) < MIN_RUNS:
        return exp(centre), None
    parts = one.var(ddof=1) / one.size, two.var(ddof=1) / two.size
    spread = float(sum(parts))
    if spread == 0:
        return exp(centre), Interval(exp(centre), exp(centre), 1 - alpha)
    df = spread**2 / float(parts[0] ** 2 / (one.size - 1) + parts[1] ** 2 / (two.size - 1))
    return exp(centre), _around(centre, float(np.sqrt(spread)), df, alpha)


def _interval(logs: npt.NDArray[np.float64], alpha: float) -> Interval:
    error = float(np.sqrt(logs.var(ddof=1) / logs.size))
    return _around(float(logs.mean()), error, logs.size - 1, alpha)


def _around(centre: float, error: float, df: float, alpha: float) -> Interval:
    # No run of ours is a millionfold of another: with one degree of freedom the reach may be.
    reach = min(float(critical.single(alpha, np.array([df]))[0]) * error, 50.0)
    return Interval(exp(centre - reach), exp(centre + reach), 1 - alpha)
