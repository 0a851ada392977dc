"""From a fit to conclusions: intervals, the noise floor, and what beats the baseline.

T treatments with the baseline first, differences in log units, oriented so that more is better. A
difference is real if it exceeds so many standard errors, by Student's t with `df` degrees of
freedom, when several are tested together:

- against the baseline: |t| of `count` candidates that share a baseline (Dunnett 1955);
- among all: |t| of every pair of `count` means (Tukey's studentized range over the root of 2).

scipy has both, as `scipy.stats.dunnett` and `scipy.stats.studentized_range`, but neither accepts
many degrees of freedom at once, the first has no quantile function, and the second needs up to a
second per value. So the two integrals are computed here on grids of nodes, kept in small tables
and interpolated; the tests compare them with scipy's. The inner integral, for known variances, is
the same for every error rate and all degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import nan

import numpy as np
import scipy
from numpy.typing import NDArray

from tuning.statistics.fit import Fit

Floats = NDArray[np.float64]

# Interpolated in 1/df, in which the quantiles are nearly straight.
_DFS = np.array([1.0, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 12, 20, 40, 1e4])
_CORRELATIONS = np.array([0.0, 0.2, 1 / 3, 0.5, 0.8])
# Nodes and weights of the part that the differences share, a standard normal.
_SHARED, _SHARED_WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_SHARED_WEIGHTS /= _SHARED_WEIGHTS.sum()
# Differences, in standard errors, for which the probabilities with known variances are tabulated;
# beyond the last all are within. The functions go on smoothly below zero.
_STEP = 0.025
_LIMITS = np.arange(-_STEP, 10, _STEP)
# With more degrees of freedom than this the variance counts as known.
_NEARLY_NORMAL = 500.0
# Tolerance in the logarithm of the error rate. Rates of 0.2 to 1e-8 take ten steps at most.
_TOLERANCE = 1e-7
_MAX_STEPS = 30


def against_baseline(count: int, alpha: float, df: Floats, correlation: float) -> Floats:
    """Two-sided critical values for `count` differences to one baseline; error rate `alpha`.

    `correlation` is the mean correlation of the differences, 0 to 0.8 (1/3 with two baselines per
    block).
    """
    table = _baseline_table(count, round(alpha, 10))
    logs = [np.interp(correlation, _CORRELATIONS, row) for row in np.log(table)]
    return _by_df(df, np.array(logs))


def among_all(count: int, alpha: float, df: Floats) -> Floats:
    """Critical values for the differences of all pairs of `count` means; error rate `alpha`."""
    return _by_df(df, np.log(_pairs_table(count, round(alpha, 10))))


def critical_value(alpha: float, df: Floats | float) -> Floats:
    """Return critical values for one difference: Student's t."""
    return np.asarray(scipy.special.stdtrit(df, 1 - alpha / 2))


def _by_df(df: Floats, logs: Floats) -> Floats:
    """Interpolate the logs of the critical values of `_DFS`."""
    inverse = 1 / np.clip(df, _DFS[0], _DFS[-1])
    return np.exp(np.interp(inverse, 1 / _DFS[::-1], logs[::-1]))


@lru_cache(maxsize=512)
def _baseline_table(count: int, alpha: float) -> Floats:
    return np.stack([_solve(inside, alpha, count) for inside in _insides(count)], axis=1)


@lru_cache(maxsize=512)
def _pairs_table(count: int, alpha: float) -> Floats:
    return _solve(_ranges(count), alpha, count * (count - 1) // 2)


@lru_cache(maxsize=128)
def _insides(count: int) -> list[Floats]:
    """By correlation P(|x_i| <= limit for all i) of normals, at every one of the limits.

    They are independent given the part that they share.
    """
    limit, found = _LIMITS[:, None], []
    for correlation in _CORRELATIONS:
        pulled, own = np.sqrt(correlation) * _SHARED, np.sqrt(1 - correlation)
        each = scipy.special.ndtr((limit - pulled) / own) - scipy.special.ndtr(
            (-limit - pulled) / own
        )
        found.append(each**count @ _SHARED_WEIGHTS)
    return found


@lru_cache(maxsize=128)
def _ranges(count: int) -> Floats:
    """P(the range of `count` normals <= limit x root 2), at every one of the limits."""
    grid = np.linspace(-8, 8, 161)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    width = (np.sqrt(2) * _LIMITS)[:, None]
    others = (scipy.special.ndtr(grid) - scipy.special.ndtr(grid - width)) ** (count - 1)
    return np.asarray((count * others * density).sum(axis=1) * (grid[1] - grid[0]))


@lru_cache(maxsize=1)
def _scales() -> tuple[Floats, Floats]:
    """Nodes and weights of the root of chi-squared / df, a row for each of the df."""
    df = _DFS[:, None]
    # Even steps in the logarithm: exact for a smooth function that vanishes at both ends.
    low, high = scipy.special.gammaincinv(df / 2, 1e-10), scipy.special.gammainccinv(df / 2, 1e-12)
    log = np.linspace(np.log(low[:, 0]), np.log(high[:, 0]), 100, axis=1)
    weights = np.exp(df / 2 * log - np.exp(log) - scipy.special.gammaln(df / 2))
    scales = np.where(df < _NEARLY_NORMAL, np.sqrt(2 * np.exp(log) / df), 1.0)
    weights = np.where(df < _NEARLY_NORMAL, weights, 1.0)
    return scales, weights / weights.sum(axis=1, keepdims=True)


def _solve(normal: Floats, alpha: float, looks: int) -> Floats:
    """For each df where the probability is 1 - alpha: between the value for one test and
    Bonferroni's. `normal` are the probabilities for known variances, at every one of the limits.
    """
    scales, weights = _scales()

    def excess(log: Floats) -> Floats:
        inside = (weights * _at(normal, np.exp(log)[:, None] * scales)).sum(axis=1)
        return np.asarray(np.log((1 - inside) / alpha))

    one_test, bonferroni = (
        scipy.special.stdtrit(_DFS, 1 - alpha / 2 / count) for count in (1, looks)
    )
    if looks == 1:
        return np.asarray(one_test)
    # The secant method, in logarithms, in which the tails of all df are nearly straight.
    first, last = np.log(one_test), np.log(bonferroni)
    before, now = excess(first), excess(last)
    for _ in range(_MAX_STEPS):
        if np.abs(now).max() <= _TOLERANCE:
            break
        step = np.zeros_like(now)
        np.divide(now * (first - last), now - before, out=step, where=now != before)
        first, before, last = last, now, last + step
        now = excess(last)
    # A tiny error rate is less than the probabilities are exact: then Bonferroni's.
    return np.asarray(np.where(np.abs(now) <= _TOLERANCE, np.exp(last), bonferroni))


def _at(values: Floats, limit: Floats) -> Floats:
    """Interpolate between the limits: the cubic through the nearest four values."""
    position = np.clip(limit / _STEP + 1, 1, len(values) - 3)
    left = position.astype(int)
    x = position - left
    a, b, c, d = (values[left + step] for step in (-1, 0, 1, 2))
    outer = x * (x - 1) * ((x + 1) * d - (x - 2) * a) / 6
    return np.asarray(outer + (x + 1) * (x - 2) * ((x - 1) * b - x * c) / 2)


Flags = NDArray[np.bool_]

ALPHA = 0.05
# Less than this is no difference but the rounding of equal figures.
_LOOKS_BETTER = 1e-9


@dataclass(frozen=True)
class Contrasts:
    """Simultaneous comparisons; NaN where the figures are missing.

    effects, half: (T,): effect against the baseline and half the width of its interval.
    pair_half: (T, T): half width of the interval of the difference of two effects.
    """

    effects: Floats
    half: Floats
    pair_half: Floats

    @cached_property
    def better(self) -> Flags:
        """(T,): the whole interval lies above the baseline."""
        return self.effects > self.half

    @cached_property
    def worse(self) -> Flags:
        """(T,): the whole interval lies below the baseline."""
        return self.effects < -self.half

    def choices(self) -> list[int]:
        """The treatments that look better than the baseline, the best-looking first.

        By their lower bounds if one beats the baseline, else by their effects. Empty while the
        noise is unknown.
        """
        bounds = self.effects - self.half
        by = bounds if (bounds > 0).any() else self.effects
        ahead = np.flatnonzero(np.isfinite(self.half) & (self.effects > _LOOKS_BETTER))
        return sorted(map(int, ahead), key=lambda i: -by[i])

    def winner(self) -> int:
        """The best-looking treatment if it is better than the baseline, else the baseline: 0."""
        first = next(iter(self.choices()), 0)
        return first if self.better[first] else 0

    def tied(self, treatment: int) -> Flags:
        """(T,): what does not measurably differ from `treatment` (its index).

        The treatment itself is included. A NaN difference is not tied: False.
        """
        gaps = np.abs(self.effects[treatment] - self.effects)
        return np.asarray(gaps <= self.pair_half[treatment])


def compare(fit: Fit, alpha: float = ALPHA) -> Contrasts:
    """The comparisons of a fit at the simultaneous error rate `alpha`.

    The correction counts all candidates of the fit, including those that left.
    """
    count = len(fit.effects)
    known = np.isfinite(fit.effects) & (fit.df >= 1)
    error = np.where(np.outer(known, known), np.sqrt(fit.variance()), np.nan)
    df = fit.pair_df()
    pair_half = among_all(max(count, 2), alpha, df) * error
    limit = against_baseline(max(count - 1, 1), alpha, df[0], fit.correlation())
    # A difference to the baseline has the same interval in the ranking and in the verdict.
    half = pair_half[0] = pair_half[:, 0] = limit * error[0]
    return Contrasts(fit.effects, half, pair_half)


def noise_floor(fit: Fit) -> float:
    """Return the difference that a config can show when compared with itself; NaN if unknown.

    The larger of two figures: the measured difference between the two baselines over all blocks,
    and the difference that such a comparison exceeds in at most 5 % of studies, given the noise of
    the baseline's own runs. That noise is moderated by all candidates' (see
    `fit.VARIANCE_PRIOR_SHARE`), because three pairs alone say little. Studies with one baseline
    per block have only the second figure.
    """
    if fit.df < 1:
        return nan
    pairs = max(int(np.isfinite(fit.cleaned[fit.baseline_rows]).any(axis=0).sum()), 1)
    limit = float(critical_value(ALPHA, fit.variance_df[0]))
    by_noise = limit * float(np.sqrt(2 * fit.variances[0] / pairs))
    return max(abs(same_config(fit) or 0.0), by_noise)


def same_config(fit: Fit) -> float | None:
    """Return the mean difference of the second baseline from the first; None without a second."""
    rows = fit.cleaned[fit.baseline_rows]
    gaps = rows[-1] - rows[0]
    known = gaps[np.isfinite(gaps)]
    return float(known.mean()) if len(rows) > 1 and len(known) else None
