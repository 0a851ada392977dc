"""From a fit to conclusions: intervals, the noise floor, and what beats the baseline.

Arrays as in `tuning.statistics.fit`: first axis studies, T treatments with the baseline first,
differences in log units, oriented so that more is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tuning.statistics import critical
from tuning.statistics.fit import Fit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ALPHA = 0.05
# Less than this is no difference but the rounding of equal figures.
_LOOKS_BETTER = 1e-9


@dataclass(frozen=True)
class Contrasts:
    """Simultaneous comparisons of every study; NaN where the figures are missing.

    effects, half: (studies, T): effect against the baseline and half the width of its interval.
    pair_half: (studies, T, T): half width of the interval of the difference of two effects.
    floor: (studies,): the noise floor.
    """

    effects: Floats
    half: Floats
    pair_half: Floats
    floor: Floats

    def of(self, study: int) -> Contrasts:
        """Return the contrasts of one study."""
        one = slice(study, study + 1)
        return Contrasts(self.effects[one], self.half[one], self.pair_half[one], self.floor[one])

    @cached_property
    def better(self) -> Flags:
        """(studies, T): the whole interval lies above the baseline."""
        return self.effects > self.half

    @cached_property
    def worse(self) -> Flags:
        """(studies, T): the whole interval lies below the baseline."""
        return self.effects < -self.half

    def choices(self, study: int = 0) -> list[int]:
        """The treatments of a study that look better than the baseline, the best-looking first.

        By their lower bounds if one beats the baseline, else by their effects. Empty while the
        noise is unknown.
        """
        effects, half = self.effects[study], self.half[study]
        bounds = effects - half
        by = bounds if (bounds > 0).any() else effects
        ahead = np.flatnonzero(np.isfinite(half) & (effects > _LOOKS_BETTER))
        return sorted(map(int, ahead), key=lambda i: -by[i])

    def winner(self) -> NDArray[np.int64]:
        """(studies,): the highest lower bound among the better ones; 0 (the baseline) if none."""
        found = np.where(self.better, self.effects - self.half, -np.inf)
        found[:, 0] = -1e300  # chosen only if nothing else is better
        return np.asarray(found.argmax(axis=1))

    def tied(self, treatment: NDArray[np.int64]) -> Flags:
        """(studies, T): what does not measurably differ from `treatment` (its index).

        The treatment itself is included. A NaN difference is not tied: False.
        """
        study = np.arange(len(treatment))
        mine, half = self.effects[study, treatment], self.pair_half[study, treatment]
        with np.errstate(invalid="ignore"):
            return np.abs(mine[:, None] - self.effects) <= half


def compare(fit: Fit, alpha: float = ALPHA, candidates: int | None = None) -> Contrasts:
    """The comparisons of a fit at the simultaneous error rate `alpha`.

    `candidates` (default: those of the fit) is how many the study began with: the correction
    counts all of them, including those that left.
    """
    count = candidates or fit.effects.shape[1] - 1
    known = (fit.df >= 1)[:, None, None] & np.isfinite(fit.effects)[:, :, None]
    error = np.where(known & known.transpose(0, 2, 1), np.sqrt(fit.variance()), np.nan)
    df = fit.pair_df()
    pair_half = critical.among_all(max(count + 1, 2), alpha, df) * error
    half = (
        critical.against_baseline(max(count, 1), alpha, df[:, :, 0], fit.correlation()[:, None])
        * error[:, :, 0]
    )
    # A difference to the baseline has the same interval in the ranking and in the verdict.
    pair_half[:, :, 0] = half
    pair_half[:, 0, :] = half
    return Contrasts(fit.effects, half, pair_half, noise_floor(fit))


def noise_floor(fit: Fit) -> Floats:
    """(studies,): the difference that a config can show when compared with itself.

    The larger of two figures: the measured difference between the two baselines over all blocks,
    and the difference that such a comparison exceeds in at most 5 % of studies, given the noise of
    the baseline's own runs. That noise is moderated by all candidates' (see
    `fit.VARIANCE_PRIOR_SHARE`), because three pairs alone say little. Studies with one baseline
    per block have only the second figure.
    """
    runs = np.isfinite(fit.cleaned[:, fit.baseline_rows])
    pairs = np.maximum(runs.any(axis=1).sum(axis=1), 1)
    limit = critical.single(ALPHA, fit.variance_df[:, 0])
    by_noise = limit * np.sqrt(2 * fit.variances[:, 0] / pairs)
    return np.where(fit.df >= 1, np.maximum(np.abs(same_config(fit)), by_noise), np.nan)


def same_config(fit: Fit) -> Floats:
    """(studies,): mean difference of the second baseline from the first; 0 without a second."""
    rows = fit.baseline_rows
    if len(rows) < 2:
        return np.zeros(len(fit.effects))
    first, second = (fit.cleaned[:, row] for row in rows[:2])
    both = np.isfinite(first) & np.isfinite(second)
    difference = np.where(both, np.where(both, second, 0) - np.where(both, first, 0), 0)
    return np.asarray(difference.sum(axis=1) / np.maximum(both.sum(axis=1), 1))
