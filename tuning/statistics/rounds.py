"""Short runs of a search: each in a round with the baseline, by whose figure it is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import fmean
from typing import NamedTuple

from tuning.statistics.data import Metric


class ShortRun(NamedTuple):
    """A short run; `figure` is above zero, None without one."""

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
            levels.setdefault(run.round, []).append(log(run.figure))
    means = {number: fmean(found) for number, found in levels.items()}
    return [
        exp(log(run.figure) - means[run.round])
        if run.figure is not None and run.round in means
        else None
        for run in runs
    ]


def mean_ratio(ratios: Iterable[float]) -> float:
    """The geometric mean of at least one ratio."""
    return exp(fmean(map(log, ratios)))


def is_better(ratio: float, other: float, metric: Metric) -> bool:
    """Whether a ratio of `metric` is better than another."""
    return ratio > other if metric.more_is_better else ratio < other
