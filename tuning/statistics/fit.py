"""The robust fit behind every interval: log figure = candidate + block + noise.

`y` has the shape (rows, blocks), NaN where there is no figure. `treatment` is each row's
candidate, 0 for the baseline, which has one row per baseline run in a block.

With complete blocks a candidate's effect is the mean of its log ratios to the mean of the two
baselines of the same block, with outliers pulled in (Huber 1981, chapter 7). If runs are missing,
the fit uses the rest of the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Chosen by simulation: see docs/explanation/statistics.md and `make bench-statistics`.
# A run further from the fit than this many standard deviations counts as if it lay there.
CLIP = 1.75
# Weight, in degrees of freedom, of the common noise beside a candidate's own when outliers are
# detected.
CLIP_PRIOR = 16.0
# That weight when a candidate's variance is estimated: this share of the square of one row's
# degrees of freedom, within the bounds; proportionally less with fewer configs than the last
# figure, and never below 1. With 3 blocks a noisy candidate must still stand out; with 20 its own
# runs outweigh the others'.
VARIANCE_PRIOR_SHARE = 0.2
VARIANCE_PRIOR_BOUNDS = (3.0, 8.0)
VARIANCE_PRIOR_MANY = 6

_ITERATIONS = 30
# Changes of an iteration that no figure shows: the next ones are smaller.
_SETTLED = 1e-9
_TINY = 1e-9


@dataclass(frozen=True)
class Fit:
    """Effects in log units against the baseline; T treatments, the baseline first.

    effects: (T,), 0 for the baseline, NaN for candidates that share no block with it.
    variances: (T,), of one run of that candidate; variance_df: their degrees of freedom.
    parts: (T, T, T); parts[i, j, t] says how much the noise of t contributes to the covariance of
        the effects i and j.
    df: residual degrees of freedom; below 1 the noise is unknown.
    pooled: variance of a run, over all candidates.
    cleaned: (rows, blocks), the figures with outliers pulled in.
    baseline_rows: which rows are the baseline's.
    """

    effects: Floats
    variances: Floats
    variance_df: Floats
    parts: Floats
    df: float
    pooled: float
    cleaned: Floats
    baseline_rows: NDArray[np.int64]

    def variance(self) -> Floats:
        """(T, T): variance of the difference of two effects."""
        return np.asarray(self._pair_parts() @ self.variances)

    def pair_df(self) -> Floats:
        """(T, T): Satterthwaite's degrees of freedom of these variances."""
        share = self._pair_parts() * self.variances
        spread = (share**2 / self.variance_df).sum(axis=-1)
        found = share.sum(axis=-1) ** 2 / np.maximum(spread, _TINY**4)
        return np.asarray(np.clip(found, 1.0, max(self.df, 1.0)))

    def correlation(self) -> float:
        """Mean correlation of the candidates' differences to the baseline."""
        covariance = self.parts[1:, 1:] @ self.variances
        deviation = np.sqrt(np.maximum(np.diag(covariance), _TINY**2))
        there = np.isfinite(self.effects[1:])
        both = np.outer(there, there) & ~np.eye(len(there), dtype=bool)
        ratio = covariance / np.outer(deviation, deviation)
        return float(ratio[both].mean()) if both.any() else 0.0

    def _pair_parts(self) -> Floats:
        own = np.einsum("iit->it", self.parts)
        return np.asarray(np.maximum(own[:, None] + own - 2 * self.parts, 0))


def fit(y: Floats, treatment: NDArray[np.int64], clip: float = CLIP) -> Fit:
    """Fit one study; the module's docstring gives the shapes."""
    design = _Design(y, treatment)
    there, share = design.there, max(design.df, 0.5) / max(design.n, 1)
    run_df = design.runs * share
    value = np.where(there, y, 0.0)

    block = np.array([_median(value[there[:, b], b]) for b in range(y.shape[1])])
    gaps = value - block
    of_treatments = (treatment == t for t in range(design.count))
    effect = np.array([_median(gaps[rows][there[rows]]) for rows in of_treatments])
    residual = design.residual(value, effect, block)
    scale = max(_median(np.abs(residual)[there]) / 0.6745 / np.sqrt(share), _TINY)
    scales = np.full(design.count, scale)
    expected = np.maximum(run_df * _expected_square(clip), _TINY)
    for _ in range(_ITERATIONS):
        before = np.concatenate([effect, block, scales])
        distance = np.abs(residual) / design.of_rows(scales)
        weight = np.where(there, np.minimum(1.0, clip / np.maximum(distance, _TINY)), 0.0)
        # 0 where there is no run, as its residual is.
        own = scales**2 * design.per_treatment(np.minimum(distance, clip) ** 2) / expected
        common = (own @ run_df) / max(run_df.sum(), _TINY)
        scales = np.sqrt((CLIP_PRIOR * common + run_df * own) / (CLIP_PRIOR + run_df) + _TINY**2)
        by_treatment = _divisor(design.per_treatment(weight))
        by_block = _divisor(weight.sum(axis=0))
        for _ in range(2):
            block = ((value - design.of_rows(effect)) * weight).sum(axis=0) / by_block
            effect = design.per_treatment((value - block) * weight) / by_treatment
        residual = design.residual(value, effect, block)
        change = before - np.concatenate([effect, block, scales])
        if np.abs(change).max() < _SETTLED:
            break
    limit = clip * design.of_rows(scales)
    return _conclude(design, effect, block, residual, limit)


def _conclude(
    design: _Design, effect: Floats, block: Floats, residual: Floats, limit: Floats
) -> Fit:
    """Pseudo-values and their variances (Huber's first proposal), moderated as limma does."""
    there, n, df = design.there, max(design.n, 1), max(design.df, 0.5)
    within = max((there & (np.abs(residual) < limit)).sum() / n, 0.2)
    factor = (1 + (n - df) / n * (1 - within) / within) / within
    pulled = np.clip(residual, -limit, limit) * factor
    squares = design.per_treatment(pulled**2)
    pooled = float(squares.sum() / df)
    rows = max(there.any(axis=1).sum(), 1)
    prior = np.clip(VARIANCE_PRIOR_SHARE * (df / rows) ** 2, *VARIANCE_PRIOR_BOUNDS)
    prior = max(prior * min(design.estimable.sum() / VARIANCE_PRIOR_MANY, 1), 1.0)
    own, mixed = design.mixing()
    clear = np.maximum(squares - mixed * pooled, 0) / np.maximum(own, _TINY)
    run_df = own**2 / np.maximum(own + mixed, _TINY)
    fitted = design.of_rows(effect) + block
    return Fit(
        effects=np.where(design.estimable, effect - effect[0], np.nan),
        variances=(prior * pooled + run_df * clear) / (prior + run_df),
        variance_df=prior + run_df,
        parts=design.parts(),
        df=design.df,
        pooled=pooled,
        cleaned=np.where(there, fitted + pulled, np.nan),
        baseline_rows=np.flatnonzero(design.treatment == 0),
    )


class _Design:
    """Which runs exist, and what follows from that alone."""

    def __init__(self, y: Floats, treatment: NDArray[np.int64]) -> None:
        self.treatment = treatment
        self.count = int(treatment.max()) + 1
        self._member = (treatment == np.arange(self.count)[:, None]).astype(float)
        there = np.isfinite(y)
        in_block = self._member @ there > 0
        # Only what ran in a block with the baseline can be compared with it.
        self.estimable = (in_block & in_block[0]).any(axis=1)
        self.there = there & self.estimable[treatment, None]
        self.n = int(self.there.sum())
        parameters = self.estimable.sum() - 1 + self.there.any(axis=0).sum()
        # One block shows the difference of its two baselines, not the noise of a config.
        compared = (self.there.sum(axis=0) > 1).sum()
        self.df = float(self.n - parameters) if compared > 1 else 0.0
        self._runs_in_block = self._member @ self.there
        self.runs = self._runs_in_block.sum(axis=1)

    def mixing(self) -> tuple[Floats, Floats]:
        """(T,) each: how much of a candidate's squared residuals is its own noise, and how much is
        that of all others through the means of the blocks. Exact for complete blocks.
        """
        in_block = self._runs_in_block > 0
        blocks = np.maximum(in_block.sum(axis=1), 1)
        size = np.maximum(in_block @ self.there.sum(axis=0) / blocks, 1.0)
        spread = self.runs - self.runs / blocks
        return np.maximum(self.runs - 1 - 2 * spread / size, 0), spread / size

    def of_rows(self, values: Floats) -> Floats:
        """(rows, 1): of each row what its candidate has."""
        return values[self.treatment, None]

    def per_treatment(self, values: Floats) -> Floats:
        """(T,): sums over the runs of each candidate."""
        return np.asarray(self._member @ values.sum(axis=1))

    def residual(self, values: Floats, effect: Floats, block: Floats) -> Floats:
        return np.where(self.there, values - self.of_rows(effect) - block, 0.0)

    def parts(self) -> Floats:
        """(T, T, T): see `Fit.parts`; from the least-squares weights of each run."""
        size = np.maximum(self.there.sum(axis=0), 1)
        # A run's row in the normal equations after the block effect has been removed.
        share = self._runs_in_block / size
        reduced = (self._member[:, :, None] - share[:, None, :]) * self.there
        info = (reduced.sum(axis=2) @ self._member.T)[1:, 1:] + np.diag(~self.estimable[1:])
        weights = np.zeros_like(reduced)
        weights[1:] = np.linalg.solve(
            info, reduced[1:].reshape(self.count - 1, self.there.size)
        ).reshape(reduced[1:].shape)
        mine = (weights[:, self.treatment == t].reshape(self.count, -1) for t in range(self.count))
        return np.stack([one @ one.T for one in mine], axis=-1)


def _median(values: Floats) -> float:
    return float(median(values.tolist())) if values.size else 0.0


def _divisor(weights: Floats) -> Floats:
    """Sums of weights; 1 where there are none, as are the sums that they divide."""
    return np.where(weights > 0, weights, 1.0)


def _expected_square(clip: float) -> float:
    """Mean square of a clipped standard normal."""
    inside = 1 - 2 * float(scipy.special.ndtr(-clip))
    density = float(np.exp(-(clip**2) / 2) / np.sqrt(2 * np.pi))
    return inside - 2 * clip * density + clip**2 * (1 - inside)
