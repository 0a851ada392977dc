"""The objective and the space of a search, as requested."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation
from tuning.strategy.search.space import Space

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
