"""The objective and the space of a search, as requested."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation
from tuning.strategy.search.space import Space


@dataclass(frozen=True)
class SearchPlan:
    """space: what may be changed. aim: what is to be best, and the limits beside it.

    runs: how many runs screening and racing get where the study has no budget.
    """

    space: Space
    aim: Aim = field(default_factory=Aim)
    runs: int = 100


def log_figure(run: Observation, metric: Metric) -> float | None:
    """The log of a run's figure, larger is better; None where it has none."""
    value = run.figure(metric)
    return None if value is None else log_value(metric, value)


def log_value(metric: Metric, value: float) -> float:
    """The log of a figure or a limit, larger being better."""
    return math.log(value) if metric.more_is_better else -math.log(value)
