"""How much each knob matters, by a model of the screening runs.

A decomposition of variance as in functional ANOVA (Hutter, Hoos, Leyton-Brown: An Efficient
Approach for Assessing Hyperparameter Importance, ICML 2014), of a Gaussian process in place of
their forest: over the whole space, what part of the model's variation a knob makes on its own, and
what part only combinations of knobs make. The process also says how sure it is of the effect of a
knob. That is a hint where to look and no evidence: the runs are short and single.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.documents import Document
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.knowledge import Row, figure_rows, fit_rows
from tuning.strategy.search.space import Space
from tuning.strategy.search.surrogate import Surrogate

Floats = NDArray[np.float64]

# Below these nothing is said: of all knobs (different configs), and of one (runs off its most
# frequent value).
MIN_CONFIGS = 12
MIN_SEEN = 4
# More runs make the model slow, and a page waits for it.
_MAX_RUNS = 120
# Points that stand for all other knobs, for one knob and for the whole; values of a knob.
_OTHERS = 48
_WHOLE = 512
_LEVELS = 5
# For 95 %. The model is surer than it should be: by its own doubt the intervals held the truth for
# 87 % of the knobs of simulated spaces, by this for 96 %.
_ALPHA = 0.05
_REACH = 1.96 * 1.5


@dataclass(frozen=True)
class KnobEffect:
    """The effect of a knob on its own: from its worst-looking to its best-looking value.

    share: of all variation (0 to 1). estimate: the metric at `best` divided by that at `worst`,
    with an interval that holds 95 % of what the model deems possible. runs: how many runs had
    another value than the most frequent one. Without enough of these runs only `runs` and `values`
    (how many different values were seen) are known.
    """

    name: str
    runs: int
    values: int
    share: float | None = None
    worst: str = ""
    best: str = ""
    estimate: Estimate | None = None

    @property
    def is_known(self) -> bool:
        """Whether the interval excludes that the knob does nothing."""
        return self.estimate is not None and self.estimate.excludes_no_change


@dataclass(frozen=True)
class Importance(Document):
    """knobs: those that matter most first. together: the share that only combinations make.

    runs, configs: what the model has learned from. Without enough configs `knobs` is empty.
    """

    runs: int
    configs: int
    knobs: tuple[KnobEffect, ...] = ()
    together: float = 0.0

    @property
    def is_enough(self) -> bool:
        return bool(self.knobs)


def importance(
    space: Space,
    screened: Sequence[Observation],
    knobs: Mapping[str, Mapping[str, str]],
    metric: Metric,
) -> Importance:
    """Return how much each knob matters, by the `screened` runs of the configs `knobs`."""
    rows = _fewer([row for row in figure_rows(screened, metric) if row[0].candidate in knobs])
    names = list(dict.fromkeys(run.candidate for run, _, _ in rows))
    if len(names) < MIN_CONFIGS:
        return Importance(len(rows), len(names))
    grid = Grid(space)
    features = grid.features_of(knobs[name] for name in names)
    model = fit_rows(rows, dict(zip(names, features, strict=True)))
    values = {name: space.values(knobs[name]) for name in names}
    random = np.random.default_rng(0)
    others = grid.spread(_OTHERS, random)
    whole = float(np.var(model.predict(grid.features(grid.spread(_WHOLE, random)))[0]))
    found = []
    for axis, one in enumerate(space.dimensions):
        seen = Counter(values[run.candidate][axis] for run, _, _ in rows)
        known = KnobEffect(one.name, len(rows) - max(seen.values()), len(seen))
        if known.runs >= MIN_SEEN:
            known = _with_effect(known, grid, model, others, axis, metric)
        found.append(known)
    alone = sum(one.share or 0.0 for one in found)
    # The sample may not hold all of the variance.
    whole = max(whole, alone, 1e-12)
    shared = [one if one.share is None else replace(one, share=one.share / whole) for one in found]
    shared.sort(key=lambda one: (one.share is None, -(one.share or 0.0), one.name))
    return Importance(len(rows), len(names), tuple(shared), 1 - alone / whole)


def _with_effect(
    known: KnobEffect,
    grid: Grid,
    model: Surrogate,
    others: NDArray[np.int64],
    axis: int,
    metric: Metric,
) -> KnobEffect:
    """Add the effect of the knob, averaged over all other knobs; `share` is its variance."""
    size = int(grid.sizes[axis])
    levels = np.unique(np.linspace(0, size - 1, min(size, _LEVELS)).round().astype(np.int64))
    points = np.tile(others, (len(levels), 1))
    points[:, axis] = np.repeat(levels, len(others))
    x = grid.features(points)
    shape = len(levels), len(others)
    mean = model.predict(x)[0].reshape(shape).mean(axis=1)
    doubt = model.covariance(x).reshape(*shape, *shape).mean(axis=(1, 3))
    worst, best = int(mean.argmin()), int(mean.argmax())
    variance = doubt[best, best] + doubt[worst, worst] - 2 * doubt[best, worst]
    reach = _REACH * float(np.sqrt(max(variance, 0.0)))
    gain = Estimate.of_gain(float(mean[best] - mean[worst]), reach, _ALPHA, metric)
    return replace(
        known,
        share=float(np.var(mean)),
        worst=grid.levels[axis][int(levels[worst])],
        best=grid.levels[axis][int(levels[best])],
        estimate=gain,
    )


def _fewer(rows: Sequence[Row]) -> list[Row]:
    """At most `_MAX_RUNS` of them, by whole rounds spread over the search."""
    rounds = sorted({run.block for run, _, _ in rows})
    if len(rows) <= _MAX_RUNS:
        return list(rows)
    count = max(int(len(rounds) * _MAX_RUNS / len(rows)), 1)
    indexes = np.linspace(0, len(rounds) - 1, count).round().astype(int)
    kept = {rounds[int(index)] for index in indexes}
    return [row for row in rows if row[0].block in kept]
