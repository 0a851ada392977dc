"""What a search is to find and where, as the user asked for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuning.statistics.data import Metric, Observation
from tuning.strategy.search.space import Space


@dataclass(frozen=True)
class Keep:
    """A limit that a recommendation must hold: at least `bound` of tpmP, at most of the others."""

    metric: Metric
    bound: float

    @property
    def least(self) -> float:
        """The bound of the log figure, larger being better."""
        return _oriented(self.metric, self.bound)


@dataclass(frozen=True)
class SearchPlan:
    """space: what may be changed. objective: what is to be best. keep: limits beside it.

    runs: how many runs screening and racing get where the study has no budget.
    """

    space: Space
    objective: Metric = Metric.TPMP
    keep: tuple[Keep, ...] = ()
    runs: int = 100


def log_figure(run: Observation, metric: Metric) -> float | None:
    """The log of a run's figure, larger is better; None where it has none."""
    value = run.figure(metric)
    return None if value is None else _oriented(metric, value)


def _oriented(metric: Metric, value: float) -> float:
    return math.log(value) if metric.more_is_better else -math.log(value)
