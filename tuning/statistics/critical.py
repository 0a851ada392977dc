"""How many standard errors a difference must exceed when several are tested together.

Two kinds, both for Student's t with `df` degrees of freedom:

- against the baseline: |t| of `count` candidates that share a baseline (Dunnett 1955);
- among all: |t| of every pair of `count` means (Tukey's studentized range over the root of 2).

scipy has both, as `scipy.stats.dunnett` and `scipy.stats.studentized_range`, but neither accepts
many degrees of freedom at once, the first has no quantile function, and the second needs up to a
second per value. So the two integrals are computed here on grids of nodes, kept in small tables
and interpolated; the tests compare them with scipy's. The inner integral, for known variances, is
the same for every error rate and all degrees of freedom.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

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


def single(alpha: float, df: Floats | float) -> Floats:
    """Critical values for one difference: Student's t."""
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
