"""Two or more sets of runs side by side: the mean of each and the ratio of two, with intervals.

For figures that a reader lays beside each other after the fact. What a study concludes is in
`analysis`: it judges all its candidates at once, before anybody chose some of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import exp, log, sqrt
from statistics import fmean, variance
from typing import TypeVar

from tuning.statistics import critical
from tuning.statistics.compare import ALPHA
from tuning.statistics.estimate import Estimate

Key = TypeVar("Key", bound=Hashable)

#: Runs or blocks from which an interval can be computed at all.
MIN_RUNS = 2


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean of the logs, as a figure; None without values. All must be above zero."""
    return exp(fmean(map(log, values))) if len(values) else None


def mean_interval(values: Sequence[float], alpha: float = ALPHA) -> tuple[float, float] | None:
    """Where the geometric mean of such runs lies, by Student's t on the logs; None below two."""
    if len(values) < MIN_RUNS:
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
    if min(map(len, samples)) < MIN_RUNS:
        return Estimate(ratio=exp(centre))
    parts = [_variance_of_mean(logs) for logs in samples]
    squares = sum(part**2 / (len(logs) - 1) for part, logs in zip(parts, samples, strict=True))
    df = sum(parts) ** 2 / squares if squares else 1.0
    return Estimate.of_gain(centre, _reach(sum(parts), df, alpha), alpha)


def _variance_of_mean(logs: Sequence[float]) -> float:
    return variance(logs) / len(logs)


def _reach(spread: float, df: float, alpha: float) -> float:
    # No run of ours is a millionfold of another: with one degree of freedom the reach may be.
    return min(float(critical.single(alpha, df)) * sqrt(spread), 50.0)
