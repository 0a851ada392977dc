"""Which configs to try next, given what is known: expected improvement near the best and afar."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tuning.strategy.search.grid import Grid, Points
from tuning.strategy.search.knowledge import Beliefs

Floats = NDArray[np.float64]

# Points tried afar and near the best known ones, and rounds of moves from the most promising.
_FAR = 500
_NEAR = 500
_ROUNDS = 3
_KEPT = 15
# Factor on the model's standard deviations; `make bench-search` chose it.
_BOLDNESS = 2.0
# How many knobs a move changes: mostly few, those that matter more often.
_MOVED = (1, 1, 2, 2, 3, 4, 6)
# A knob that does not seem to matter is still moved now and then.
_FLOOR = 0.3


@dataclass(frozen=True)
class Pick:
    """A point to try: what is expected of it, and how surely."""

    point: tuple[int, ...]
    mean: float
    sd: float


def improvement(mean: Floats, sd: Floats, best: float) -> Floats:
    """Expected improvement over `best`, with more doubt than the model has.

    It is fitted to few runs and surer of itself than it should be: it would stay where it is.
    """
    sd = _BOLDNESS * sd
    gap = (mean - best) / sd
    density = np.exp(-0.5 * gap**2) / np.sqrt(2 * np.pi)
    return np.asarray(sd * (gap * scipy.special.ndtr(gap) + density))


def next_points(
    grid: Grid,
    beliefs: Beliefs,
    centres: Points,
    best: float,
    known: Collection[tuple[int, ...]],
    count: int,
    random: np.random.Generator,
) -> list[Pick]:
    """Up to `count` points that are not `known`, each as if those before had been measured.

    centres: (n, dimensions) the best known points, the best first. best: what the best is worth.
    """
    weight = _weight(grid, beliefs)
    points = [grid.spread(_FAR, random), _moved(grid, centres, weight, _NEAR, random)]
    pool, gain = _valued(grid, beliefs, points, best, known)
    for _ in range(_ROUNDS if len(pool) else 0):
        top = pool[np.argsort(-gain, kind="stable")[:_KEPT]]
        more = _moved(grid, top, weight, _NEAR // 2, random)
        pool, gain = _valued(grid, beliefs, [top, more], best, known)
    return _in_turn(grid, beliefs, pool, gain, best, count) if len(pool) else []


def _weight(grid: Grid, beliefs: Beliefs) -> Floats:
    """(dimensions,) how often a move changes each."""
    found = np.zeros(len(grid.sizes))
    np.add.at(found, grid.owner, beliefs.objective.weight[: len(grid.owner)])
    found = found + _FLOOR / len(found)
    return np.asarray(found / found.sum())


def _moved(
    grid: Grid, centres: Points, weight: Floats, count: int, random: np.random.Generator
) -> Points:
    points = centres[random.integers(len(centres), size=count)].copy()
    size = points.shape[1]
    moved = np.minimum(random.choice(_MOVED, size=count), size)
    # Weighted choice without repeats: the smallest of exponential waiting times.
    order = (random.exponential(size=(count, size)) / weight).argsort(axis=1).argsort(axis=1)
    drawn = (random.random((count, size)) * grid.sizes).astype(np.int64)
    steps = np.rint(random.normal(0, 0.15, (count, size)) * grid.sizes).astype(np.int64)
    stepped = np.clip(points + np.where(steps == 0, 1, steps), 0, grid.sizes - 1)
    small = random.random((count, size)) < 0.5
    return grid.kept(np.where(order < moved[:, None], np.where(small, stepped, drawn), points))


def _valued(
    grid: Grid,
    beliefs: Beliefs,
    points: Sequence[Points],
    best: float,
    known: Collection[tuple[int, ...]],
) -> tuple[Points, Floats]:
    """Return the points that are not known yet, each once, and what improvement each promises."""
    pool = np.unique(np.concatenate(points), axis=0)
    pool = pool[np.array([tuple(point) not in known for point in pool.tolist()], dtype=bool)]
    x = grid.features(pool)
    mean, sd = beliefs.objective.predict(x)
    return pool, improvement(mean, sd, best) * beliefs.chance(x)


def _in_turn(
    grid: Grid, beliefs: Beliefs, pool: Points, gain: Floats, best: float, count: int
) -> list[Pick]:
    """The best point, then the best given that the first turned out as expected, and so on."""
    x = grid.features(pool)
    mean, sd = beliefs.objective.predict(x)
    chance, variance = beliefs.chance(x), sd**2
    noise = beliefs.objective.noise**2
    covariance = beliefs.objective.covariance(x)
    picks: list[Pick] = []
    for _ in range(min(count, len(pool))):
        index = int(gain.argmax())
        point = tuple(int(one) for one in pool[index])
        picks.append(Pick(point, float(mean[index]), float(sd[index])))
        column = covariance[:, index] / np.sqrt(variance[index] + noise)
        covariance = covariance - np.outer(column, column)
        variance = np.maximum(np.diag(covariance), 1e-12)
        best = max(best, float(mean[index]))
        gain = improvement(mean, np.sqrt(variance), best) * chance
        gain[[tuple(one) in {pick.point for pick in picks} for one in pool.tolist()]] = -1.0
    return picks
