"""What a history says of the space: a model of its screening runs, and how each config stands."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuning.statistics.data import Metric, Observation
from tuning.strategy.protocol import History
from tuning.strategy.racing import FAULTS
from tuning.strategy.search.beliefs import Beliefs, Limit
from tuning.strategy.search.grid import Grid, Points
from tuning.strategy.search.plan import SearchPlan, log_figure, log_value
from tuning.strategy.search.surrogate import Surrogate, fit, fit_robust

Floats = NDArray[np.float64]

# A run that was cut short is known by a bound only.
_BOUND_NOISE = 0.15
# Of configs that were refused or failed the newest are enough; more make the model slow.
_MAX_FAILED = 100


@dataclass(frozen=True)
class Standing:
    """A measured config as the model sees it: log of the figure, larger is better.

    chance: that it runs and keeps the limits.
    """

    name: str
    mean: float
    sd: float
    chance: float

    def lower(self, doubts: float) -> float:
        """What may be expected of it at least, by so many standard deviations."""
        return self.mean - doubts * self.sd


@dataclass(frozen=True)
class Knowledge:
    """standings: of every config with a figure, the baseline first."""

    grid: Grid
    beliefs: Beliefs
    standings: tuple[Standing, ...]
    points: dict[str, Points]

    @property
    def baseline(self) -> Standing:
        return self.standings[0]

    def ranked(self, doubts: float) -> list[Standing]:
        """All but the baseline, the best first; those that hardly keep a limit at the end."""
        return sorted(
            self.standings[1:],
            key=lambda one: (one.chance < 0.5, -one.lower(doubts), one.name),
        )


def learn(plan: SearchPlan, history: History) -> Knowledge | None:
    """What is known by now; None as long as the baseline has no figure."""
    grid = Grid(plan.space)
    objective = figure_rows(history.screened, plan.aim.objective)
    names = list(dict.fromkeys(run.candidate for run, _, _ in objective))
    figured = {run.candidate for run, _, bound in objective if not bound}
    if history.baseline not in figured:
        return None
    x = dict(zip(names, _features(grid, history, names), strict=True))
    failed = _failed(history)
    worked = [name for name in names if name in figured and name not in failed]
    beliefs = Beliefs(
        objective=fit_rows(objective, x),
        runs=_running(grid, history, worked, _newest(history, failed)),
        limits=tuple(
            Limit(fit_rows(rows, x), log_value(metric, bound))
            for metric, bound in plan.aim.keep.items()
            if (rows := _of(figure_rows(history.screened, metric), x))
        ),
    )
    shown = [history.baseline, *(name for name in worked if name != history.baseline)]
    there = np.array([x[name] for name in shown])
    mean, sd = beliefs.objective.predict(there)
    chance = beliefs.chance(there)
    standings = tuple(
        Standing(
            name,
            float(mean[place]),
            float(sd[place]),
            float(chance[place]),
        )
        for place, name in enumerate(shown)
    )
    points = {name: grid.nearest(history.knobs.get(name, {})) for name in shown}
    return Knowledge(grid, beliefs, standings, points)


Row = tuple[Observation, float, bool]


def figure_rows(screened: Iterable[Observation], metric: Metric) -> list[Row]:
    """Runs with the log of their figure, or of its bound (then True)."""
    found: list[Row] = []
    for run in screened:
        value = log_figure(run, metric)
        if value is not None:
            found.append((run, value, False))
        elif metric is Metric.TPMP and run.is_cut_short:
            found.append((run, float(np.log(run.tpmP_at_most or 1.0)), True))
    return found


def _of(rows: Iterable[Row], configs: Container[str]) -> list[Row]:
    return [row for row in rows if row[0].candidate in configs]


def fit_rows(rows: Sequence[Row], x: Mapping[str, Floats]) -> Surrogate:
    """The model of a figure; `x` are the features of each config of the rows."""
    return fit_robust(
        np.array([x[run.candidate] for run, _, _ in rows]),
        np.array([value for _, value, _ in rows]),
        np.array([run.block for run, _, _ in rows]),
        np.array([_BOUND_NOISE if bound else 0.0 for _, _, bound in rows]),
    )


def _running(
    grid: Grid, history: History, worked: Sequence[str], failed: Sequence[str]
) -> Surrogate | None:
    """Of whether a config runs; what nothing is known of is presumed to."""
    if not failed:
        return None
    names = [*worked, *failed]
    label = np.array([1.0] * len(worked) + [0.0] * len(failed))
    return fit(_features(grid, history, names), label, np.arange(len(names)), center=1.0)


def _features(grid: Grid, history: History, names: Sequence[str]) -> Floats:
    return grid.features_of(history.knobs.get(name, {}) for name in names)


def _newest(history: History, failed: set[str]) -> list[str]:
    return sorted([name for name in history.knobs if name in failed][-_MAX_FAILED:])


def _failed(history: History) -> set[str]:
    """Refused before they ran, or failed while they did."""
    faulty = {
        run.candidate for run in history.screened if run.outcome in FAULTS and not run.is_cut_short
    }
    return (faulty | set(history.refused)) - {history.baseline}
