"""The robust fit behind every interval: log figure = candidate + block + noise.

All functions take many studies at once, so that the simulations run the same code that judges
real studies: `y` has the shape (studies, rows, blocks), NaN where there is no figure. `treatment`
is each row's candidate, 0 for the baseline, which has one row per baseline run in a block.

With complete blocks a candidate's effect is the mean of its log ratios to the mean of the two
baselines of the same block, with outliers pulled in (Huber 1981, chapter 7). If runs are missing,
the fit uses the rest of the block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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

    effects: (studies, T), 0 for the baseline, NaN for candidates that share no block with it.
    variances: (studies, T), of one run of that candidate; variance_df: their degrees of freedom.
    parts: (studies, T, T, T); parts[s, i, j, t] says how much the noise of t contributes to the
        covariance of the effects i and j.
    df: (studies,), residual degrees of freedom; below 1 the noise is unknown.
    pooled: (studies,), variance of a run, over all candidates.
    cleaned: (studies, rows, B), the figures with outliers pulled in.
    baseline_rows: which rows are the baseline's.
    """

    effects: Floats
    variances: Floats
    variance_df: Floats
    parts: Floats
    df: Floats
    pooled: Floats
    cleaned: Floats
    baseline_rows: NDArray[np.int64]

    def of(self, study: int) -> Fit:
        """Return the fit of one study."""
        one = slice(study, study + 1)
        return replace(
            self,
            effects=self.effects[one],
            variances=self.variances[one],
            variance_df=self.variance_df[one],
            parts=self.parts[one],
            df=self.df[one],
            pooled=self.pooled[one],
            cleaned=self.cleaned[one],
        )

    def variance(self) -> Floats:
        """(studies, T, T): variance of the difference of two effects."""
        return np.asarray(np.einsum("sijt,st->sij", self._pair_parts(), self.variances))

    def pair_df(self) -> Floats:
        """(studies, T, T): Satterthwaite's degrees of freedom of those variances."""
        share = self._pair_parts() * self.variances[:, None, None, :]
        spread = (share**2 / self.variance_df[:, None, None, :]).sum(axis=-1)
        found = share.sum(axis=-1) ** 2 / np.maximum(spread, _TINY**4)
        return np.asarray(np.clip(found, 1.0, np.maximum(self.df, 1.0)[:, None, None]))

    def correlation(self) -> Floats:
        """(studies,): mean correlation of the candidates' differences to the baseline."""
        covariance = np.einsum("sijt,st->sij", self.parts[:, 1:, 1:], self.variances)
        deviation = np.sqrt(np.maximum(np.einsum("sii->si", covariance), _TINY**2))
        ratio = covariance / (deviation[:, :, None] * deviation[:, None, :])
        there = np.isfinite(self.effects[:, 1:])
        both = (there[:, :, None] & there[:, None, :]) & ~np.eye(there.shape[1], dtype=bool)
        total = np.where(both, ratio, 0).sum(axis=(1, 2))
        return np.asarray(total / np.maximum(both.sum(axis=(1, 2)), 1))

    def _pair_parts(self) -> Floats:
        own = np.einsum("siit->sit", self.parts)
        return np.asarray(np.maximum(own[:, :, None] + own[:, None, :] - 2 * self.parts, 0))


def fit(y: Floats, treatment: NDArray[np.int64], clip: float = CLIP) -> Fit:
    """Fit every study; the module's docstring gives the shapes."""
    design = _Design(y, treatment)
    there, n, df = design.there, design.n, design.df
    share = np.maximum(df, 0.5) / np.maximum(n, 1)
    run_df = design.runs * share[:, None]
    value = np.where(there, y, 0.0)

    block = median_of(value, there, axis=1)
    effect = design.medians(value - block[:, None, :])
    residual = design.residual(value, effect, block)
    scale = median_of(np.abs(residual).reshape(len(y), -1), there.reshape(len(y), -1), axis=1)
    scale = np.maximum(scale / 0.6745 / np.sqrt(share), _TINY)
    scales = np.repeat(scale[:, None], design.count, axis=1)
    expected = np.maximum(run_df * _expected_square(clip), _TINY)
    all_df = np.maximum(run_df.sum(axis=1), _TINY)
    for _ in range(_ITERATIONS):
        before = effect, block, scales
        distance = np.abs(residual) / design.of_rows(scales)
        weight = np.where(there, np.minimum(1.0, clip / np.maximum(distance, _TINY)), 0.0)
        square = np.minimum(distance, clip) ** 2  # 0 where there is no run, as its residual is
        own = scales**2 * design.per_treatment(square) / expected
        common = (own * run_df).sum(axis=1) / all_df
        scales = np.sqrt(
            (CLIP_PRIOR * common[:, None] + run_df * own) / (CLIP_PRIOR + run_df) + _TINY**2
        )
        of_treatments = _divisor(design.per_treatment(weight))
        of_blocks = _divisor(weight.sum(axis=1))
        for _ in range(2):
            block = ((value - design.of_rows(effect)) * weight).sum(axis=1) / of_blocks
            effect = design.per_treatment((value - block[:, None, :]) * weight) / of_treatments
        residual = design.residual(value, effect, block)
        changes = map(np.subtract, before, (effect, block, scales))
        if all(np.abs(change).max(initial=0) < _SETTLED for change in changes):
            break
    return _conclude(design, effect, block, residual, scales, clip, run_df)


def _conclude(
    design: _Design,
    effect: Floats,
    block: Floats,
    residual: Floats,
    scales: Floats,
    clip: float,
    run_df: Floats,
) -> Fit:
    """Pseudo-values and their variances (Huber's first proposal), moderated as limma does."""
    there, n, df = design.there, np.maximum(design.n, 1), np.maximum(design.df, 0.5)
    limit = clip * design.of_rows(scales)
    within = (there & (np.abs(residual) < limit)).sum(axis=(1, 2)) / n
    within = np.maximum(within, 0.2)
    factor = (1 + (n - df) / n * (1 - within) / within) / within
    pulled = np.where(there, np.clip(residual, -limit, limit), 0.0) * factor[:, None, None]
    squares = design.per_treatment(pulled**2)
    pooled = squares.sum(axis=1) / df
    rows = np.maximum(there.any(axis=2).sum(axis=1), 1)
    prior = np.clip(VARIANCE_PRIOR_SHARE * (df / rows) ** 2, *VARIANCE_PRIOR_BOUNDS)
    prior = prior * np.minimum(design.estimable.sum(axis=1) / VARIANCE_PRIOR_MANY, 1)
    prior = np.maximum(prior, 1.0)[:, None]
    own, mixed = design.mixing()
    clear = np.maximum(squares - mixed * pooled[:, None], 0) / np.maximum(own, _TINY)
    run_df = own**2 / np.maximum(own + mixed, _TINY)
    variances = (prior * pooled[:, None] + run_df * clear) / (prior + run_df)
    fitted = design.of_rows(effect) + block[:, None, :]
    known = design.estimable & np.isfinite(design.df)[:, None]
    return Fit(
        effects=np.where(known, effect - effect[:, :1], np.nan),
        variances=variances,
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
        self.member = (treatment[:, None] == np.arange(self.count)).astype(float)
        there = np.isfinite(y)
        in_block = np.einsum("srb,rt->stb", there, self.member) > 0
        # Only what ran in a block with the baseline can be compared with it.
        self.estimable = (in_block & in_block[:, :1]).any(axis=2)
        self.there = there & self.estimable[:, treatment, None]
        self.n = self.there.sum(axis=(1, 2)).astype(float)
        parameters = self.estimable.sum(axis=1) - 1 + self.there.any(axis=1).sum(axis=1)
        compared = (self.there.sum(axis=1) > 1).sum(axis=1)
        # One block shows the difference of its two baselines, not the noise of a config.
        self.df = np.where(compared > 1, self.n - parameters, 0.0)
        self.runs = self.per_treatment(self.there.astype(float))

    def mixing(self) -> tuple[Floats, Floats]:
        """(studies, T) each: how much of a candidate's squared residuals is its own noise, and how
        much is that of all others through the means of the blocks. Exact for complete blocks.
        """
        there = self.there.astype(float)
        in_block = np.einsum("srb,rt->stb", there, self.member)
        blocks = np.maximum((in_block > 0).sum(axis=2), 1)
        met = np.einsum("stb,sb->st", (in_block > 0).astype(float), there.sum(axis=1)) / blocks
        spread = self.runs - self.runs / blocks
        size = np.maximum(met, 1.0)
        return np.maximum(self.runs - 1 - 2 * spread / size, 0), spread / size

    def of_rows(self, values: Floats) -> Floats:
        """(studies, rows, 1): of each row what its candidate has."""
        return values.take(self.treatment, axis=1)[:, :, None]

    def per_treatment(self, values: Floats) -> Floats:
        """(studies, T): sums over the runs of each candidate."""
        return np.asarray(values.sum(axis=2) @ self.member)

    def medians(self, values: Floats) -> Floats:
        """(studies, T): medians over the runs of each candidate."""
        studies = len(values)
        found = [
            median_of(
                values[:, self.treatment == t].reshape(studies, -1),
                self.there[:, self.treatment == t].reshape(studies, -1),
                axis=1,
            )
            for t in range(self.count)
        ]
        return np.stack(found, axis=1)

    def residual(self, values: Floats, effect: Floats, block: Floats) -> Floats:
        fitted = self.of_rows(effect) + block[:, None, :]
        return np.where(self.there, values - fitted, 0.0)

    def parts(self) -> Floats:
        """(studies, T, T, T): see `Fit.parts`; from the least-squares weights of each run."""
        there = self.there.astype(float)
        in_block = np.einsum("srb,rt->stb", there, self.member)
        size = np.maximum(there.sum(axis=1), 1.0)
        # A run's row in the normal equations after the block effect has been removed.
        reduced = np.einsum("srb,rt->strb", there, self.member)
        reduced -= np.einsum("stb,srb->strb", in_block / size[:, None, :], there)
        info = np.einsum("strb,ru->stu", reduced, self.member)[:, 1:, 1:]
        absent = ~self.estimable[:, 1:]
        info = info + absent[:, :, None] * np.eye(self.count - 1)
        weights = np.zeros_like(reduced)
        studies, _, rows, blocks = reduced.shape
        if self.count > 1:
            solved = np.linalg.solve(info, reduced[:, 1:].reshape(studies, self.count - 1, -1))
            weights[:, 1:] = solved.reshape(studies, self.count - 1, rows, blocks)
        found = np.empty((studies, self.count, self.count, self.count))
        for t in range(self.count):
            mine = weights[:, :, self.treatment == t].reshape(studies, self.count, -1)
            found[..., t] = mine @ mine.transpose(0, 2, 1)
        return found


def median_of(values: Floats, there: NDArray[np.bool_], axis: int) -> Floats:
    """Median of the values that exist; 0 if there are none."""
    ordered = np.sort(np.where(there, values, np.inf), axis=axis)
    count = there.sum(axis=axis, keepdims=True)
    low, high = (
        np.take_along_axis(ordered, np.maximum(index, 0), axis=axis).squeeze(axis)
        for index in ((count - 1) // 2, np.minimum(count // 2, ordered.shape[axis] - 1))
    )
    some = count.squeeze(axis) > 0
    return np.where(some, (np.where(some, low, 0.0) + np.where(some, high, 0.0)) / 2, 0.0)


def _divisor(weights: Floats) -> Floats:
    """Sums of weights; 1 where there are none, as are the sums that they divide."""
    return np.where(weights > 0, weights, 1.0)


def _expected_square(clip: float) -> float:
    """Mean square of a clipped standard normal."""
    inside = 1 - 2 * float(scipy.special.ndtr(-clip))
    density = float(np.exp(-(clip**2) / 2) / np.sqrt(2 * np.pi))
    return inside - 2 * clip * density + clip**2 * (1 - inside)
