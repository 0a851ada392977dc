"""A Gaussian process over the space: what is expected of a config, and how sure that is.

What every knob does alone, and what they do together (Matern 5/2), a shift per batch, because the
host drifts, and noise. All are the most probable ones under priors. A size and a length per knob
do no better: `bench.search --only choices --choices 6` has a median regret of 9.8 % with them and
of 8.5 % without. numpy and scipy are enough for a study's few hundred runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROOT5 = math.sqrt(5.0)
_JITTER = 1e-8
_STEPS = 50
_FARTHEST = 4.0
# Runs that are so many standard deviations from what all others say are known as less sure.
_ODD = 3.0
_MIN_RUNS = 8
# How far along its scale a knob's own effect bends, and how much the level may be off.
_BEND = 0.8
_LEVEL = 0.5
# Medians and log standard deviations of what is fitted. The effects of knobs alone and together
# are shares of the spread of the figures, noise and shift are in log figures.
_ALONE = 0.3, 1.0
_LENGTH = 1.5, 1.2
_SIGNAL = 1.0, 0.7
_NOISE = 0.035, 0.4
_SHIFT = 0.02, 0.5


@dataclass(frozen=True)
class Surrogate:
    """A fitted process; all but `x` and `length` are in units of log figures.

    alone: how much a knob does alone. signal: how much they do together, at `length`.
    """

    x: Floats
    alone: float
    length: float
    signal: float
    noise: float
    shift: float
    center: float
    _factor: Floats
    _weights: Floats

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        """(points,) mean and standard deviation of what a config is worth, without noise."""
        cross = self._kernel(x, self.x)
        mean = self.center + cross @ self._weights
        part = scipy.linalg.solve_triangular(self._factor, cross.T, lower=True)
        variance = _LEVEL**2 + self.alone**2 * x.shape[1] + self.signal**2
        return mean, np.sqrt(np.maximum(variance - (part**2).sum(axis=0), 1e-12))

    def left_out(self) -> tuple[Floats, Floats]:
        """(runs,) how far each run is from what the others say, and the deviation of that."""
        inverse = scipy.linalg.cho_solve((self._factor, True), np.eye(len(self._weights)))
        spread = 1 / np.diag(inverse)
        return self._weights * spread, np.sqrt(spread)

    def covariance(self, x: Floats) -> Floats:
        """(points, points) of what is still unknown of both."""
        part = scipy.linalg.solve_triangular(self._factor, self._kernel(self.x, x), lower=True)
        return np.asarray(self._kernel(x, x) - part.T @ part)

    @property
    def theta(self) -> Floats:
        """The logs of what was fitted, in the order in which `fit` looks for them."""
        fitted = [self.alone, self.length, self.signal, self.noise, self.shift]
        return np.asarray(np.log(fitted))

    def _kernel(self, one: Floats, other: Floats) -> Floats:
        alike, far = _alike_and_far(one, other)
        together = self.signal**2 * _matern(far / self.length)
        return _LEVEL**2 + self.alone**2 * alike + together


def _alike_and_far(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """(points, points) how alike two are, summed over features, and how far from each other."""
    alike, squared = np.zeros((2, len(one), len(other)))
    for ours, theirs in zip(one.T, other.T, strict=True):
        gap = np.abs(ours[:, None] - theirs[None])
        alike += _matern(gap / _BEND)
        squared += gap**2
    return alike, np.sqrt(squared)


def _matern(distance: Floats) -> Floats:
    scaled = _ROOT5 * distance
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


def fit_robust(x: Floats, y: Floats, batch: Ints, extra_noise: Floats) -> Surrogate:
    """As `fit`; runs that are far from what all others say are taken for less sure.

    Now and then a run is far off, because another program was busy or a checkpoint fell into it.
    """
    found = fit(x, y, batch, extra_noise)
    gap = found.left_out()
    odd = np.abs(gap[0]) > _ODD * gap[1]
    if not odd.any() or len(y) < _MIN_RUNS:
        return found
    less_sure = np.where(odd, np.maximum(extra_noise, np.abs(gap[0])), extra_noise)
    return fit(x, y, batch, less_sure, begin=found)


def fit(
    x: Floats,
    y: Floats,
    batch: Ints,
    extra_noise: Floats | None = None,
    center: float | None = None,
    begin: Surrogate | None = None,
) -> Surrogate:
    """Fit to runs: `x` (runs, features), `y` logs that are better when larger, `batch` numbers.

    begin: a fit to nearly the same runs, from which this one is found sooner.
    center: what is expected where nothing is known; the median where it is None.
    extra_noise: (runs,) standard deviations on top, for figures that are known less well.
    Raises ValueError without runs.
    """
    if not len(y):
        raise ValueError("nothing to learn from")
    center = float(np.median(y)) if center is None else center
    scale = max(float(np.std(y)), 0.05)
    alike, far = _alike_and_far(x, x)
    same = (batch[:, None] == batch[None]).astype(float)
    more = np.zeros(len(y)) if extra_noise is None else extra_noise**2
    target, identity = y - center, np.eye(len(y))
    alone_prior, signal_prior = ((one * scale, spread) for one, spread in (_ALONE, _SIGNAL))
    priors = [alone_prior, _LENGTH, signal_prior, _NOISE, _SHIFT]
    medians, spread = np.array(priors).T
    middle = np.log(medians)

    def factor(theta: Floats) -> tuple[Floats, Floats]:
        """Return the kernel of what knobs do together, and the factor of the whole one."""
        alone, _, signal, noise, shift = np.exp(2 * theta)
        together = signal * _matern(far / np.exp(theta[1]))
        whole = _LEVEL**2 + alone * alike + together + shift * same
        whole[np.diag_indices_from(whole)] += noise + more + _JITTER
        return together, scipy.linalg.cholesky(whole, lower=True)

    def loss(theta: Floats) -> tuple[float, Floats]:
        try:
            together, lower = factor(theta)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        alone, _, signal, noise, shift = np.exp(2 * theta)
        weights = scipy.linalg.cho_solve((lower, True), target)
        inner = np.outer(weights, weights) - scipy.linalg.cho_solve((lower, True), identity)
        value = 0.5 * target @ weights + np.log(np.diag(lower)).sum()
        scaled = _ROOT5 * far / np.exp(theta[1])
        by_length = signal * scaled**2 / 3 * (1 + scaled) * np.exp(-scaled)
        parts = alone * alike, by_length / 2, together, noise * identity, shift * same
        gradient = -np.array([(inner * part).sum() for part in parts])
        away = (theta - middle) / spread
        return float(value + 0.5 * away @ away), gradient + away / spread

    from scipy import optimize  # late import: it is a tenth of the start-up time of every command

    # A step of the search for them may go far: beyond this the priors leave nothing anyway.
    bounds = np.stack([middle - _FARTHEST * spread, middle + _FARTHEST * spread], axis=1)
    found = optimize.minimize(
        loss,
        middle if begin is None else np.clip(begin.theta, bounds[:, 0], bounds[:, 1]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": _STEPS},
    )
    _, lower = factor(found.x)
    weights = scipy.linalg.cho_solve((lower, True), target)
    alone, length, signal, noise, shift = map(float, np.exp(found.x))
    return Surrogate(x, alone, length, signal, noise, shift, center, lower, weights)
