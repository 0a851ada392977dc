"""From a fit to conclusions: intervals, the noise floor, and what beats the baseline.

T treatments with the baseline first, differences in log units, oriented so that more is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan

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
    pair_half = critical.among_all(max(count, 2), alpha, df) * error
    limit = critical.against_baseline(max(count - 1, 1), alpha, df[0], fit.correlation())
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
    limit = float(critical.single(ALPHA, fit.variance_df[0]))
    by_noise = limit * float(np.sqrt(2 * fit.variances[0] / pairs))
    return max(abs(same_config(fit) or 0.0), by_noise)


def same_config(fit: Fit) -> float | None:
    """Return the mean difference of the second baseline from the first; None without a second."""
    rows = fit.cleaned[fit.baseline_rows]
    gaps = rows[-1] - rows[0]
    known = gaps[np.isfinite(gaps)]
    return float(known.mean()) if len(rows) > 1 and len(known) else None
