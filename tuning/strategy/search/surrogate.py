"""A Gaussian process over the space: what is expected of a config, and how sure that is.

What every knob does alone, and what they do together (Matern 5/2 with a length per feature; a long
one means that it does not matter), a shift per batch, because the host drifts, and noise. All are
the most probable ones under priors. numpy and scipy are enough for a study's few hundred runs.
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
    """A fitted process; all but `x` and `lengths` are in units of log figures.

    alone: (features,) how much each does alone. signal: how much they do together, at `lengths`.
    """

    x: Floats
    alone: Floats
    lengths: Floats
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
        variance = _LEVEL**2 + float((self.alone**2).sum()) + self.signal**2
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
        rest = [self.signal, self.noise, self.shift]
        return np.asarray(np.log(np.concatenate([self.alone, self.lengths, rest])))

    @property
    def weight(self) -> Floats:
        """(features,) how much each matters: the share of the inverse squared lengths."""
        inverse = self.lengths**-2.0
        found = self.alone**2 + self.signal**2 * inverse / inverse.sum()
        return np.asarray(found / found.sum())

    def _kernel(self, one: Floats, other: Floats) -> Floats:
        return _kernel(one, other, self.alone, self.lengths, self.signal)


def _kernel(one: Floats, other: Floats, alone: Floats, lengths: Floats, signal: float) -> Floats:
    a, b = one / lengths, other / lengths
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None] - 2 * a @ b.T
    found = _LEVEL**2 + signal**2 * _matern(np.sqrt(np.maximum(squared, 0.0)))
    for axis, size in enumerate(alone):
        found += size**2 * _matern(np.abs(one[:, axis, None] - other[None, :, axis]) / _BEND)
    return found


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
    features = x.shape[1]
    gaps = (x[:, None, :] - x[None, :, :]) ** 2
    same = (batch[:, None] == batch[None]).astype(float)
    more = np.zeros(len(y)) if extra_noise is None else extra_noise**2
    target = y - center
    signal_prior = _SIGNAL[0] * scale, _SIGNAL[1]
    priors = [(_ALONE[0] * scale, _ALONE[1])] * features + [_LENGTH] * features
    medians, spread = np.array([*priors, signal_prior, _NOISE, _SHIFT]).T
    middle = np.log(medians)
    parts = _matern(np.sqrt(gaps) / _BEND)

    def loss(theta: Floats) -> tuple[float, Floats]:
        alone = np.exp(2 * theta[:features])
        inverse = np.exp(-2 * theta[features : 2 * features])
        signal, noise, shift = np.exp(2 * theta[2 * features :])
        distance = np.sqrt(np.maximum(gaps @ inverse, 0.0))
        decay = np.exp(-_ROOT5 * distance)
        kernel = signal * (1 + _ROOT5 * distance + 5 / 3 * distance**2) * decay
        whole = _LEVEL**2 + parts @ alone + kernel + shift * same
        whole[np.diag_indices_from(whole)] += noise + more + _JITTER
        try:
            lower = scipy.linalg.cholesky(whole, lower=True)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        weights = scipy.linalg.cho_solve((lower, True), target)
        inner = np.outer(weights, weights) - scipy.linalg.cho_solve(
            (lower, True), np.eye(len(target))
        )
        value = 0.5 * target @ weights + np.log(np.diag(lower)).sum()
        slope = signal * (5 / 3) * (1 + _ROOT5 * distance) * decay * inner
        gradient = np.empty_like(theta)
        gradient[:features] = -np.tensordot(inner, parts, axes=2) * alone
        gradient[features : 2 * features] = -0.5 * np.tensordot(slope, gaps, axes=2) * inverse
        gradient[-3] = -(inner * kernel).sum()
        gradient[-2] = -noise * np.trace(inner)
        gradient[-1] = -shift * (inner * same).sum()
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
    theta = np.asarray(found.x)
    alone, lengths = np.exp(theta[:features]), np.exp(theta[features : 2 * features])
    signal, noise, shift = (float(one) for one in np.exp(theta[2 * features :]))
    kernel = _kernel(x, x, alone, lengths, signal) + shift**2 * same
    kernel[np.diag_indices_from(kernel)] += noise**2 + more + _JITTER
    lower = scipy.linalg.cholesky(kernel, lower=True)
    weights = scipy.linalg.cho_solve((lower, True), target)
    return Surrogate(x, alone, lengths, signal, noise, shift, center, lower, weights)
