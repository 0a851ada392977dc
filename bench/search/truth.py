"""The true throughput of every config: models of a recorded surface, of other kinds than ours.

A search that models with a Gaussian process would be flattered by a surface made by one.

`sklearn` takes a second to import, in each process of a test run: it is, when a model is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bench.search.fast_models import Predicts, fast
from bench.search.recorded import NATIVE, Recorded, Surface, recorded
from tuning.strategy.search.grid import Grid, Points

Floats = NDArray[np.float64]
_SEED = 20261122
_FOLDS = 10


class Model(Protocol):
    def fit(self, x: Floats, y: Floats) -> Any: ...


def _boosted() -> Model:
    """Many shallow trees, each correcting what those before left."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(
        n_estimators=300, learning_rate=0.05, max_depth=3, subsample=0.7, random_state=_SEED
    )


def _forest() -> Model:
    """The mean of many deep trees with random cuts."""
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(
        n_estimators=100, min_samples_leaf=2, max_features=0.7, random_state=_SEED
    )


def _nets() -> Model:
    """The mean of small neural networks, each fitted to a draw of the runs."""
    from sklearn.ensemble import BaggingRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    net = MLPRegressor(
        hidden_layer_sizes=(32,),
        activation="tanh",
        alpha=1.0,
        solver="lbfgs",
        max_iter=500,
        random_state=_SEED,
    )
    many = BaggingRegressor(net, n_estimators=10, random_state=_SEED)
    return make_pipeline(StandardScaler(), many)


#: What a truth is made of; the last is held back: nothing was chosen by it.
KINDS: Mapping[str, tuple[Callable[[], Model], ...]] = {
    "all kinds": (_boosted, _forest, _nets),
    "trees": (_boosted, _forest),
}


@dataclass
class Truth:
    """A fitted surface: log ratios to the baseline, as they truly are in the replay."""

    name: str
    recorded: Recorded
    grid: Grid
    models: list[Predicts]
    best: float = 0.0
    offset: float = 0.0
    _known: dict[tuple[float, ...], float] = field(default_factory=dict)

    def gain(self, config: Mapping[str, str]) -> float:
        """Return the gain of one config; 0 for the baseline."""
        x = self.grid.features_of([config])
        key = tuple(x[0])
        if key not in self._known:
            self._known[key] = float(self.predicted(x)[0])
        return self._known[key]

    def regret(self, config: Mapping[str, str]) -> float:
        """The share of throughput that is given away against the best config known."""
        return 1 - float(np.exp(min(self.gain(config) - self.best, 0.0)))

    def gains(self, points: Points) -> Floats:
        """(count,) of points."""
        return self.predicted(self.grid.features(points))

    def predicted(self, x: Floats) -> Floats:
        return np.mean([model(x) for model in self.models], axis=0) - self.offset


@lru_cache
def truth(name: str, surface: Surface = NATIVE) -> Truth:
    """The truth of that kind."""
    known = recorded(surface)
    grid = Grid(known.space)
    x = grid.features_of(known.configs)
    fitted = [make().fit(x, known.gains) for make in KINDS[name]]
    found = Truth(name, known, grid, [fast(model) for model in fitted])
    found.offset = float(found.predicted(grid.features_of([{}]))[0])
    found.best = _highest(found)
    return found


def _highest(found: Truth) -> float:
    """The best of many points, each improved knob by knob until no change of one knob helps."""
    random = np.random.default_rng(_SEED)
    points = found.grid.spread(5_000, random)
    gains = found.gains(points)
    top = points[np.argsort(-gains)[:10]]
    best = float(gains.max())
    while True:
        moves = [top]
        for place, size in enumerate(found.grid.sizes):
            for level in range(size):
                moved = top.copy()
                moved[:, place] = level
                moves.append(found.grid.kept(moved))
        pool = np.unique(np.concatenate(moves), axis=0)
        gains = found.gains(pool)
        top = pool[np.argsort(-gains)[:10]]
        if gains.max() <= best + 1e-9:
            return best
        best = float(gains.max())


@dataclass(frozen=True)
class Error:
    """Cross-validated: root mean square in log units, and the share of variance explained."""

    rmse: float
    r2: float


def error_of(name: str, surface: Surface = NATIVE) -> Error:
    """How well a truth says what it has not seen."""
    from sklearn.model_selection import KFold, cross_val_predict

    known = recorded(surface)
    x = Grid(known.space).features_of(known.configs)
    folds = KFold(_FOLDS, shuffle=True, random_state=_SEED)
    said = np.mean(
        [cross_val_predict(make(), x, known.gains, cv=folds) for make in KINDS[name]], axis=0
    )
    gap = said - known.gains
    return Error(float(np.sqrt((gap**2).mean())), float(1 - (gap**2).mean() / known.gains.var()))


def main_effects_only(found: Truth) -> float:
    """Regret of the config of each knob's best value on average over the space.

    What a method finds that knows every knob's own effect exactly and nothing else.
    """
    points = found.grid.spread(60_000, np.random.default_rng(_SEED))
    gains = np.concatenate([found.gains(part) for part in np.array_split(points, 12)])
    best = [
        int(np.argmax([gains[points[:, place] == level].mean() for level in range(size)]))
        for place, size in enumerate(found.grid.sizes)
    ]
    return found.regret(found.grid.knobs(found.grid.kept(np.array([best]))[0]))
