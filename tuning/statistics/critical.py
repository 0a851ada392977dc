"""How many standard errors a difference must exceed when several are tested together.

Two kinds, both for Student's t with `df` degrees of freedom:

- against the baseline: |t| of `count` candidates that share a baseline (Dunnett 1955);
- among all: |t| of every pair of `count` means (Tukey's studentized range over the root of 2).

scipy has both, as `scipy.stats.dunnett` and `scipy.stats.studentized_range`, but neither accepts
many degrees of freedom at once, the first has no quantile function, and the second needs up to a
second per value. So the two integrals are computed here on grids of nodes, kept in small tables
and interpolated; the tests compare them with scipy's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

# Interpolated in 1/df, in which the quantiles are nearly straight.
_DFS = np.array([1.0, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 12, 20, 40, 1e4])
_CORRELATIONS = np.array([0.0, 0.2, 1 / 3, 0.5, 0.8])
# Nodes and weights of the part that the differences share, a standard normal.
_SHARED, _SHARED_WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_SHARED_WEIGHTS /= _SHARED_WEIGHTS.sum()
# With more degrees of freedom than this the variance counts as known.
_NEARLY_NORMAL = 500.0


def against_baseline(count: int, alpha: float, df: Floats, correlation: Floats) -> Floats:
    """Two-sided critical values for `count` differences to one baseline; error rate `alpha`.

    `correlation` is the mean correlation of the differences, 0 to 0.8 (1/3 with two baselines per
    block).
    Shapes of `df` and `correlation` are broadcast.
    """
    table = np.log(_baseline_table(count, round(alpha, 10)))
    df, correlation = np.broadcast_arrays(df, correlation)
    inverse = 1 / np.clip(df, _DFS[0], _DFS[-1])
    columns = np.stack(
        [np.interp(inverse, 1 / _DFS[::-1], column[::-1]) for column in table.T], axis=-1
    )
    correlation = np.clip(correlation, _CORRELATIONS[0], _CORRELATIONS[-1])
    left = np.clip(
        np.searchsorted(_CORRELATIONS, correlation, side="right") - 1, 0, len(_CORRELATIONS) - 2
    )
    share = (correlation - _CORRELATIONS[left]) / (_CORRELATIONS[left + 1] - _CORRELATIONS[left])
    low, high = (
        np.take_along_axis(columns, (left + step)[..., None], axis=-1)[..., 0] for step in (0, 1)
    )
    return np.asarray(np.exp((1 - share) * low + share * high))


def among_all(count: int, alpha: float, df: Floats) -> Floats:
    """Critical values for the differences of all pairs of `count` means; error rate `alpha`."""
    table = np.log(_pairs_table(count, round(alpha, 10)))
    inverse = 1 / np.clip(df, _DFS[0], _DFS[-1])
    return np.exp(np.interp(inverse, 1 / _DFS[::-1], table[::-1]))


def single(alpha: float, df: Floats) -> Floats:
    """Critical values for one difference: Student's t."""
    return np.asarray(special.stdtrit(df, 1 - alpha / 2))


@lru_cache(maxsize=512)
def _baseline_table(count: int, alpha: float) -> Floats:
    return np.array(
        [
            [_solve(partial(_inside, count, df, r), alpha, df, count) for r in _CORRELATIONS]
            for df in _DFS
        ]
    )


@lru_cache(maxsize=512)
def _pairs_table(count: int, alpha: float) -> Floats:
    pairs = count * (count - 1) // 2
    return np.array([_solve(partial(_range, count, df), alpha, df, pairs) for df in _DFS])


def _inside(count: int, df: float, correlation: float, critical: float) -> float:
    """P(|t_i| <= critical for all i); independent given the scale and the shared part."""
    scale, scale_weight = _scales(df)
    limit = (critical * scale)[:, None]
    pulled, own = np.sqrt(correlation) * _SHARED, np.sqrt(1 - correlation)
    each = special.ndtr((limit - pulled) / own) - special.ndtr((-limit - pulled) / own)
    return float(scale_weight @ each**count @ _SHARED_WEIGHTS)


def _range(count: int, df: float, critical: float) -> float:
    """P(the range of `count` normals over an independent scale <= critical x root 2)."""
    scale, scale_weight = _scales(df)
    grid = np.linspace(-8, 8, 161)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
    width = (np.sqrt(2) * critical * scale)[:, None]
    others = (special.ndtr(grid) - special.ndtr(grid - width)) ** (count - 1)
    return float(scale_weight @ (count * others * density).sum(axis=1) * (grid[1] - grid[0]))


@lru_cache(maxsize=len(_DFS))
def _scales(df: float) -> tuple[Floats, Floats]:
    """Nodes and weights of the root of chi-squared / df."""
    if df >= _NEARLY_NORMAL:
        return np.ones(1), np.ones(1)
    # Even steps in the logarithm: exact for a smooth function that vanishes at both ends.
    low, high = special.gammaincinv(df / 2, 1e-10), special.gammainccinv(df / 2, 1e-12)
    log = np.linspace(np.log(low), np.log(high), 100)
    weights = np.exp(df / 2 * log - np.exp(log) - special.gammaln(df / 2))
    return np.sqrt(2 * np.exp(log) / df), weights / weights.sum()


def _solve(probability: Callable[[float], float], alpha: float, df: float, looks: int) -> float:
    """Where the probability is 1 - alpha: between the value for one test and Bonferroni's."""
    from scipy import optimize  # late import: it is a tenth of the start-up time of every command

    low, high = (float(special.stdtrit(df, 1 - alpha / 2 / count)) for count in (1, looks))
    if looks == 1:
        return low
    found = optimize.brentq(
        lambda critical: probability(critical) - (1 - alpha), 0.95 * low, 1.05 * high, rtol=1e-5
    )
    return float(found)
