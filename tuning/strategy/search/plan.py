"""The objective, the space and the earlier configs of a search, which it measures first.

The earlier configs are used for nothing else: the model of a search learns from its own runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation
from tuning.strategy.search.grid import Grid, Points
from tuning.strategy.search.space import Dimension, Space
from tuning.strategy.search.surrogate import fit_robust

#: Prefix of the names of configs that a search makes.
PREFIX = "search-"


@dataclass(frozen=True)
class EarlierConfig:
    """A config that an earlier study measured, beside the same baseline as this search has.

    study: its number. gain: the mean log of the objective's ratios to the baseline's run of the
    same block, larger is better. runs: how many ratios those are.
    """

    study: int
    knobs: Mapping[str, str]
    gain: float
    runs: int


@dataclass(frozen=True)
class SearchPlan:
    """space: what may be changed. aim: what is to be best, and the limits beside it.

    runs: how many runs screening and racing get where the study has no budget.
    earlier: what earlier studies measured; the best of it is measured first.
    """

    space: Space
    aim: Aim = field(default_factory=Aim)
    runs: int = 100
    earlier: tuple[EarlierConfig, ...] = ()


def log_figure(run: Observation, metric: Metric) -> float | None:
    """The log of a run's figure, larger is better; None where it has none."""
    value = run.figure(metric)
    return None if value is None else log_value(metric, value)


def log_value(metric: Metric, value: float) -> float:
    """The log of a figure or a limit, larger being better."""
    return math.log(value) if metric.more_is_better else -math.log(value)


# With fewer configs than these a model says nothing.
_MIN_CONFIGS = 8


def lies_in(space: Space, knobs: Mapping[str, str]) -> bool:
    """Whether the search could propose it, give or take a step: its knobs, pins and ranges."""
    names = set(space.names)
    beside = {name: value for name, value in knobs.items() if name not in names}
    if beside != dict(space.pinned):
        return False
    return all(_has(one, knobs[one.name]) for one in space.dimensions if one.name in knobs)


def best_before(plan: SearchPlan, grid: Grid, count: int) -> list[tuple[Points, EarlierConfig]]:
    """Up to `count` points of the space that were measured and look better than the baseline.

    By what may be expected of them at least: the highest of many figures is a lucky one.
    """
    least = _least(plan.earlier, grid)
    found: dict[tuple[int, ...], tuple[Points, EarlierConfig]] = {}
    for one, expected in sorted(zip(plan.earlier, least, strict=True), key=lambda pair: -pair[1]):
        point = grid.kept(grid.nearest(one.knobs)[None])[0]
        if one.gain > 0 and expected > 0 and len(found) < count:
            found.setdefault(tuple(point.tolist()), (point, one))
    return list(found.values())


def _least(earlier: Sequence[EarlierConfig], grid: Grid) -> list[float]:
    """The gain that may be expected of each, one standard deviation below its mean."""
    if len(earlier) < _MIN_CONFIGS:
        return [one.gain for one in earlier]
    x = grid.features_of(one.knobs for one in earlier)
    gains = np.array([one.gain for one in earlier])
    studies = np.array([one.study for one in earlier])
    mean, sd = fit_robust(x, gains, studies, np.zeros(len(gains))).predict(x)
    return [float(one) for one in mean - sd]


def _has(one: Dimension, value: str) -> bool:
    if not one.is_number or value in one.special or value == one.default:
        return value in (*one.levels, one.default)
    try:
        number = float(value)
    except ValueError:
        return False
    return math.isfinite(number) and one.low <= number <= one.high
