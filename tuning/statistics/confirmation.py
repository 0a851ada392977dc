"""Confirmation: fresh pairs of winner and baseline, whose effect is the one recommended.

A winner was chosen because it looked good, so its effect in the study is too high on average
(winner's curse). The fresh pairs played no part in that choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, exp, log

import numpy as np

from benchmarks.counted import counted
from tuning.statistics import critical
from tuning.statistics.analysis import Analysis, Interval
from tuning.statistics.compare import ALPHA
from tuning.statistics.data import Metric
from tuning.statistics.fit import fit
from tuning.statistics.verdict import interval_text

MIN_PAIRS = 5
MAX_PAIRS = 20
# As many must have both figures: that one is void is no reason to know nothing.
MIN_WHOLE_PAIRS = 4
# Weight, in degrees of freedom, of the study's noise beside the noise of the pairs.
NOISE_PRIOR = 4.0
# Standard errors for 95 % confidence with few pairs, plus those for a power of 80 %.
_REACH = 2.3 + 0.84

# What a change is one of, where it is not throughput.
_OF = {
    Metric.TPMP: "",
    Metric.P95: " in 95th-percentile response time",
    Metric.SERVER_PATH_LENGTH: " in CPU cycles per New-Order",
}


class ConfirmationState(StrEnum):
    UNFINISHED = "unfinished"  # fewer than `MIN_WHOLE_PAIRS` with both figures
    CONFIRMED = "confirmed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Confirmation:
    """`ratio` and `interval`: the metric divided by the baseline's, from the fresh pairs alone."""

    state: ConfirmationState
    pairs: int
    ratio: float | None
    interval: Interval | None
    sentence: str


def pairs_needed(analysis: Analysis) -> int:
    """The number of pairs that is likely to confirm the winner.

    Planned for an effect midway between the winner's and the near end of its interval. Between
    `MIN_PAIRS` and `MAX_PAIRS`; `MIN_PAIRS` without a winner.
    """
    best = analysis.standing(analysis.winner) if analysis.winner else None
    if best is None or best.ratio is None or best.interval is None or not analysis.run_noise:
        return MIN_PAIRS
    near = best.interval.low if analysis.metric.more_is_better else best.interval.high
    effect = abs(log(best.ratio) + log(near)) / 2
    return pairs_to_show(effect, analysis.run_noise)


def most_pairs(blocks: int) -> int:
    """The most pairs that confirm a winner of so many blocks: no more than the search for it."""
    return min(max(MIN_PAIRS, 2 * blocks), MAX_PAIRS)


def pairs_to_show(effect: float, run_noise: float) -> int:
    """Pairs that are likely to show an effect, a log; between `MIN_PAIRS` and `MAX_PAIRS`."""
    wanted = 2 * (_REACH * log(1 + run_noise) / max(effect, 1e-6)) ** 2
    return min(max(MIN_PAIRS, ceil(wanted)), MAX_PAIRS)


def confirm(
    pairs: Sequence[tuple[float | None, float | None]],
    candidate: str,
    baseline: str,
    *,
    run_noise: float | None = None,
    metric: Metric = Metric.TPMP,
) -> Confirmation:
    """Judge fresh pairs of (winner's, baseline's) figures; None is a run without a figure.

    `run_noise` is `Analysis.run_noise` of the study. Confirmed if the whole 95 % interval of the
    paired log ratios is better than the baseline. Call it only when all pairs are measured: their
    number is fixed before the first one. Why some are void has nothing to do with their figures.
    """
    whole = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    if len(whole) < MIN_WHOLE_PAIRS:
        text = (
            f"Not confirmed: {len(whole)} of {counted(len(pairs), 'pair')} of {candidate} and "
            f"{baseline} have both figures, and {MIN_WHOLE_PAIRS} are needed. Keep {baseline}, or "
            "extend the study by a block: that measures the missing pairs."
        )
        return Confirmation(ConfirmationState.UNFINISHED, len(whole), None, None, text)
    sign = 1.0 if metric.more_is_better else -1.0
    y = sign * np.log(np.array(whole, dtype=float).T[::-1])[None]
    fitted = fit(y, np.array([0, 1]))
    effect, own, df = float(fitted.effects[0, 1]), float(fitted.pooled[0]), float(fitted.df[0])
    if run_noise is not None:
        own = (NOISE_PRIOR * log(1 + run_noise) ** 2 + df * own) / (NOISE_PRIOR + df)
        df += NOISE_PRIOR
    half = float(critical.single(ALPHA, np.array(df))) * (2 * own / len(whole)) ** 0.5
    low, high = sorted((exp(sign * (effect - half)), exp(sign * (effect + half))))
    interval, ratio = Interval(low, high, 1 - ALPHA), exp(sign * effect)
    state = ConfirmationState.CONFIRMED if effect > half else ConfirmationState.WITHDRAWN
    evidence = (
        f"{(ratio - 1) * 100:+.1f} %{_OF[metric]} against {baseline} in {len(whole)} fresh pairs "
        f"({interval_text(interval)})"
    )
    text = (
        f"Confirmed: {candidate} {evidence}."
        if state is ConfirmationState.CONFIRMED
        else f"Withdrawn: {candidate} did not repeat its lead, {evidence}; keep {baseline}."
    )
    return Confirmation(state, len(whole), ratio, interval, text)
