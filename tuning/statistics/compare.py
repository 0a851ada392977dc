"""From a fit to what can be said: intervals, the noise floor, and who beats the baseline.

Arrays as in `tuning.statistics.fit`: first axis studies, T treatments with the baseline first,
differences in log units, oriented so that more is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuning.statistics import critical
from tuning.statistics.fit import Fit

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """Simultaneous statements about every study; NaN where nothing can be said.

    effects, half: (studies, T): effect against the baseline and half its interval's width.
    pair_half: (studies, T, T): half width of the interval of the difference of two effects.
    floor: (studies,): the noise floor.
    """

    effects: Floats
    half: Floats
    pair_half: Floats
    floor: Floats

    @property
    def better(self) -> Flags:
        """(studies, T): the interval excludes zero and the effect exceeds the noise floor."""
        return (self.effects > self.half) & (self.effects > self.floor[:, None])

    @property
    def worse(self) -> Flags:
        """(studies, T): the whole interval lies below the baseline."""
        return self.effects < -self.half

    def winner(self) -> NDArray[np.int64]:
        """(studies,): the largest effect among the better ones; 0, the baseline, without any."""
        found = np.where(self.better, self.effects, -np.inf)
        found[:, 0] = -1e300  # loses to any, wins against none
        return np.asarray(found.argmax(axis=1))

    def tied(self, place: NDArray[np.int64]) -> Flags:
        """(studies, T): what cannot be told apart from the treatment at `place`, itself included.

        NaN differences cannot be told apart from anything and are not tied: False.
        """
        index = place[:, None]
        mine = np.take_along_axis(self.effects, index, axis=1)
        half = np.take_along_axis(self.pair_half, index[:, :, None], axis=1)[:, 0]
        with np.errstate(invalid="ignore"):
            return np.abs(mine - self.effects) <= half


def compare(fit: Fit, alpha: float = ALPHA, candidates: int | None = None) -> Comparison:
    """What the fit says at the simultaneous error rate `alpha`.

    `candidates` (default: those of the fit) is how many the study began with: all of them are
    corrected for, also those that left it.
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
    # One difference to the baseline has one interval, in the ranking as in the verdict.
    pair_half[:, :, 0] = half
    pair_half[:, 0, :] = half
    return Comparison(fit.effects, half, pair_half, noise_floor(fit))


def noise_floor(fit: Fit) -> Floats:
    """(studies,): how far apart this study puts two names of one config.

    The larger of what the two baselines really differed by, over all blocks, and of what such a
    comparison exceeds in 5 % of studies, by the noise of the baseline's own runs. That noise
    leans on all candidates' (see `fit.VARIANCE_PRIOR_SHARE`): three pairs alone say next to
    nothing. Studies with one baseline per block have the second part only.
    """
    runs = np.isfinite(fit.cleaned[:, fit.baseline_rows])
    pairs = np.maximum(runs.any(axis=1).sum(axis=1), 1)
    limit = critical.single(2 * ALPHA, fit.variance_df[:, 0])
    by_noise = limit * np.sqrt(2 * fit.variances[:, 0] / pairs)
    return np.where(fit.df >= 1, np.maximum(np.abs(same_config(fit)), by_noise), np.nan)


def same_config(fit: Fit) -> Floats:
    """(studies,): mean difference of the second baseline to the first; 0 without a second."""
    rows = fit.baseline_rows
    if len(rows) < 2:
        return np.zeros(len(fit.effects))
    first, second = (fit.cleaned[:, row] for row in rows[:2])
    both = np.isfinite(first) & np.isfinite(second)
    difference = np.where(both, np.where(both, second, 0) - np.where(both, first, 0), 0)
    return np.asarray(difference.sum(axis=1) / np.maximum(both.sum(axis=1), 1))
