"""A model of the screening runs of a history, and how each config stands by it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tuning.statistics.data import Metric, Observation
from tuning.strategy.protocol import History
from tuning.strategy.racing import FAULTS
from tuning.strategy.search.grid import Grid, Points
from tuning.strategy.search.plan import PREFIX, SearchPlan, log_figure, log_value
from tuning.strategy.search.surrogate import Surrogate, fit, fit_robust

Floats = NDArray[np.float64]

# A run that was cut short is known by a bound only.
_BOUND_NOISE = 0.15
# Runs that are so many standard deviations of the noise from what the model says are odd.
_ODD = 3.0
# Between a config that runs (1) and one that fails (0), and how blurred that is.
_MIDDLE = 0.5
_BLUR = 0.2
# Of configs that were refused or failed the newest are enough; more make the model slow.
_MAX_FAILED = 100


@dataclass(frozen=True)
class Limit:
    """A figure that must be kept: `model` of its log, larger is better, and the least of it."""

    model: Surrogate
    least: float

    def chance(self, x: Floats) -> Floats:
        """(points,) probability that it is kept."""
        mean, sd = self.model.predict(x)
        return np.asarray(scipy.special.ndtr((mean - self.least) / sd))


@dataclass(frozen=True)
class Beliefs:
    """objective: of the log of the figure, larger is better.

    runs: of whether a config runs, 1 or 0; None as long as none failed. A failure is no figure: a
    very bad one would bend the objective around it.
    """

    objective: Surrogate
    runs: Surrogate | None = None
    limits: tuple[Limit, ...] = ()

    def chance(self, x: Floats) -> Floats:
        """(points,) probability that a config runs and keeps every limit."""
        found = np.ones(len(x))
        if self.runs is not None:
            mean, sd = self.runs.predict(x)
            found = scipy.special.ndtr((mean - _MIDDLE) / np.sqrt(sd**2 + _BLUR**2))
        for limit in self.limits:
            found = found * limit.chance(x)
        return found


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
        """Return the least to expect of it, so many standard deviations below the mean."""
        return self.mean - doubts * self.sd


@dataclass(frozen=True)
class Knowledge:
    """standings: of every config with a figure, the baseline first.

    apart: given configs whose lines beside the space matter.
    """

    grid: Grid
    beliefs: Beliefs
    standings: tuple[Standing, ...]
    points: dict[str, Points]
    apart: Container[str] = ()

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
    """Return what the runs so far say; None as long as the baseline has no figure."""
    grid = Grid(plan.space)
    objective = figure_rows(history.screened, plan.aim.objective)
    names = list(dict.fromkeys(run.candidate for run, _, _ in objective))
    figured = {run.candidate for run, _, bound in objective if not bound}
    if history.baseline not in figured:
        return None
    x = dict(zip(names, _features(grid, history, names), strict=True))
    model = fit_rows(objective, x)
    if apart := _apart(plan, history, _odd(model, objective, x)):
        grid = Grid(plan.space, max(apart.values()))
        x = dict(zip(names, _features(grid, history, names, apart), strict=True))
        model = fit_rows(objective, x)
    failed = _failed(history)
    worked = [name for name in names if name in figured and name not in failed]
    newest = sorted([name for name in history.knobs if name in failed][-_MAX_FAILED:])
    beliefs = Beliefs(
        objective=model,
        runs=_running(_features(grid, history, [*worked, *newest], apart), len(newest)),
        limits=tuple(
            Limit(fit_rows(rows, x), log_value(metric, bound))
            for metric, bound in plan.aim.keep.items()
            if (
                rows := [
                    row for row in figure_rows(history.screened, metric) if row[0].candidate in x
                ]
            )
        ),
    )
    shown = [history.baseline, *(name for name in worked if name != history.baseline)]
    there = np.array([x[name] for name in shown])
    figures = np.array([*beliefs.objective.predict(there), beliefs.chance(there)]).T.tolist()
    standings = tuple(Standing(name, *values) for name, values in zip(shown, figures, strict=True))
    points = {name: grid.nearest(history.knobs.get(name, {})) for name in shown}
    return Knowledge(grid, beliefs, standings, points, apart)


def _odd(model: Surrogate, rows: Sequence[Row], x: Mapping[str, Floats]) -> set[str]:
    """Configs with a run that is better or worse than the model can explain."""
    mean, _ = model.predict(np.array([x[run.candidate] for run, _, _ in rows]))
    most = _ODD * float(np.hypot(model.noise, model.shift))
    return {
        run.candidate
        for (run, value, bound), expected in zip(rows, mean, strict=True)
        if abs(value - expected) > most and not bound
    }


def _apart(plan: SearchPlan, history: History, odd: Container[str]) -> dict[str, int]:
    """The odd ones of the given configs that set what the space does not have.

    Each has a number, from 1, for these lines, which then are a feature to the model. Without that
    what they contribute is taken for noise of a point of the space, which may be the baseline's.
    """
    usual = {**history.knobs.get(history.baseline, {}), **plan.space.pinned}
    inside = set(plan.space.names)
    numbers: dict[frozenset[tuple[str, str]], int] = {}
    found = {}
    for name in dict.fromkeys(run.candidate for run in history.screened):
        lines = frozenset(
            (knob, value)
            for knob, value in history.knobs.get(name, {}).items()
            if knob not in inside and usual.get(knob) != value
        )
        if lines and name in odd and not name.startswith(PREFIX):
            found[name] = numbers.setdefault(lines, len(numbers) + 1)
    return found


Row = tuple[Observation, float, bool]


def figure_rows(screened: Iterable[Observation], metric: Metric) -> list[Row]:
    """Runs with the log of their figure, or of its bound (then True)."""
    found: list[Row] = []
    for run in screened:
        value = log_figure(run, metric)
        if value is not None:
            found.append((run, value, False))
        elif metric is Metric.THROUGHPUT and run.is_cut_short:
            found.append((run, float(np.log(run.throughput_at_most or 1.0)), True))
    return found


def fit_rows(rows: Sequence[Row], x: Mapping[str, Floats]) -> Surrogate:
    """The model of a figure; `x` are the features of each config of the rows."""
    return fit_robust(
        np.array([x[run.candidate] for run, _, _ in rows]),
        np.array([value for _, value, _ in rows]),
        np.array([run.block for run, _, _ in rows]),
        np.array([_BOUND_NOISE if bound else 0.0 for _, _, bound in rows]),
    )


def _running(features: Floats, failed: int) -> Surrogate | None:
    """Model whether a config runs: the last `failed` did not; unknown ones are presumed to."""
    if not failed:
        return None
    count = len(features)
    label = np.array([1.0] * (count - failed) + [0.0] * failed)
    return fit(features, label, np.arange(count), center=1.0)


def _features(
    grid: Grid, history: History, names: Sequence[str], apart: Mapping[str, int] | None = None
) -> Floats:
    inside = grid.features_of(history.knobs.get(name, {}) for name in names)
    if not apart:
        return inside
    own = np.array([apart.get(name, 0) for name in names])
    return np.hstack([inside, own[:, None] == np.arange(1, max(apart.values()) + 1)])


def _failed(history: History) -> set[str]:
    """Return the configs that were refused before they ran, or failed while they did."""
    faulty = {
        run.candidate for run in history.screened if run.outcome in FAULTS and not run.is_cut_short
    }
    return (faulty | set(history.refused)) - {history.baseline}
