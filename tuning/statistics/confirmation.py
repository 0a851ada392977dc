"""Confirmation: fresh pairs of a config and the baseline decide whether it is recommended.

The blocks choose the config, because it looks best in them, so its effect there is too high on
average (winner's curse). The fresh pairs played no part in that choice: they alone decide.

A config that is no better than the baseline is recommended in at most 2.5 % of rankings. If the
pairs of the first config fail, those of the runner-up decide with the rest of that error: the
first gets 2 %, the second 0.4 %, and so on, however often a study is extended (`error_of`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log

import numpy as np

from benchmarks.counted import counted
from tuning.statistics import critical
from tuning.statistics.analysis import Analysis
from tuning.statistics.compare import ALPHA
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.statistics.fit import fit

MIN_PAIRS = 5
MAX_PAIRS = 20
# As many must have both figures: that one is void is no reason to know nothing.
MIN_WHOLE_PAIRS = 4
#: Configs of a ranking that get fresh pairs at most, until the study is extended.
MAX_TRIED = 2
# The first config that gets pairs has this share of the error rate; each further one has the same
# share of the rest.
FIRST_SHARE = 0.8
# Weight, in degrees of freedom, of the study's noise beside the noise of the pairs.
NOISE_PRIOR = 4.0
# Standard errors for 95 % confidence with few pairs, plus those for a power of 90 %.
_REACH = 2.3 + 1.28

# The metric after a change, where it is not throughput.
_OF = {
    Metric.THROUGHPUT: "",
    Metric.P95: " in 95th-percentile response time",
    Metric.SERVER_PATH_LENGTH: " in CPU cycles per transaction",
}

# Figures of the config and of the baseline; None is a run without a figure.
Pairs = Sequence[tuple[float | None, float | None]]


class ConfirmationState(StrEnum):
    UNFINISHED = "unfinished"  # fewer than `MIN_WHOLE_PAIRS` with both figures
    CONFIRMED = "confirmed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Confirmation:
    """`estimate`: the metric divided by the baseline's, from the fresh pairs alone."""

    state: ConfirmationState
    pairs: int
    estimate: Estimate | None
    sentence: str


def error_of(number: int) -> float:
    """Return the two-sided error rate of the pairs of the config tried as `number`, from 1.

    All of them together stay below 5 %, so below 2.5 % for configs that are no better.
    """
    return ALPHA * FIRST_SHARE * (1 - FIRST_SHARE) ** (number - 1)


def pairs_needed(analysis: Analysis, name: str, most: int) -> int:
    """Return the number of pairs that is likely to confirm a candidate; `MIN_PAIRS` to `most`.

    Planned for an effect midway between the ratio and the near end of the interval, or zero if
    that is nearer.
    """
    found, noise = analysis.standing(name).estimate, analysis.run_noise
    if found is None or not found.has_interval or not noise:
        return MIN_PAIRS
    near, _ = found.gains(analysis.metric)
    effect = (found.gain(analysis.metric) + max(near, 0.0)) / 2
    return pairs_to_show(effect, noise, most)


def is_worth_pairs(analysis: Analysis, name: str, most: int) -> bool:
    """Whether `most` pairs are likely to show a candidate's ratio, if that is the true one."""
    found = analysis.standing(name).estimate
    if found is None or not analysis.run_noise:
        return False
    return pairs_to_show(abs(log(found.ratio)), analysis.run_noise, most + 1) <= most


def most_pairs(blocks: int, candidates: int) -> int:
    """Return the most pairs after so many blocks: no more runs than choosing has taken."""
    runs = blocks * max(candidates + 2, 4)
    return min(max(MIN_PAIRS, runs // 2), MAX_PAIRS)


def pairs_to_show(effect: float, run_noise: float, most: int = MAX_PAIRS) -> int:
    """Return how many pairs are likely to show an effect, a log; `MIN_PAIRS` to `most`."""
    wanted = 2 * (_REACH * log(1 + run_noise) / max(effect, 1e-6)) ** 2
    return min(max(MIN_PAIRS, ceil(min(wanted, most))), most)


def confirm_each(
    tried: Mapping[str, Pairs],
    baseline: str,
    *,
    run_noise: float | None = None,
    metric: Metric = Metric.THROUGHPUT,
) -> dict[str, Confirmation]:
    """Judge the pairs of every config of a ranking, in the order in which they were tried."""
    return {
        name: confirm(
            pairs, name, baseline, run_noise=run_noise, metric=metric, alpha=error_of(number)
        )
        for number, (name, pairs) in enumerate(tried.items(), 1)
    }


def confirm(
    pairs: Pairs,
    candidate: str,
    baseline: str,
    *,
    run_noise: float | None = None,
    metric: Metric = Metric.THROUGHPUT,
    alpha: float = ALPHA,
) -> Confirmation:
    """Judge fresh pairs of a candidate and the baseline.

    `run_noise` is `Analysis.run_noise` of the study. Confirmed if the whole interval of the paired
    log ratios is better than the baseline; `alpha` is the error of both its ends. Call it only
    when all pairs are measured: their number is fixed before the first one. Why some are void has
    nothing to do with their figures.
    """
    whole = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    if len(whole) < MIN_WHOLE_PAIRS:
        text = (
            f"Not confirmed: {len(whole)} of {counted(len(pairs), 'pair')} of {candidate} and "
            f"{baseline} have both figures, and {MIN_WHOLE_PAIRS} are needed. Extend the study by "
            "a block to measure the missing pairs."
        )
        return Confirmation(ConfirmationState.UNFINISHED, len(whole), None, text)
    sign = 1.0 if metric.more_is_better else -1.0
    fitted = fit(sign * np.log(np.array(whole, dtype=float).T[::-1]), np.array([0, 1]))
    effect, own, df = float(fitted.effects[1]), fitted.pooled, fitted.df
    if run_noise is not None:
        own = (NOISE_PRIOR * log(1 + run_noise) ** 2 + df * own) / (NOISE_PRIOR + df)
        df += NOISE_PRIOR
    half = float(critical.single(alpha, df)) * (2 * own / len(whole)) ** 0.5
    estimate, is_better = Estimate.of_gain(effect, half, alpha, metric), effect > half
    text = (
        f"{'Confirmed' if is_better else 'Not confirmed'}: {candidate} "
        f"{(estimate.ratio - 1) * 100:+.1f} %{_OF[metric]} against {baseline} in "
        f"{counted(len(whole), 'fresh pair')} ({estimate.text()})."
    )
    state = ConfirmationState.CONFIRMED if is_better else ConfirmationState.WITHDRAWN
    return Confirmation(state, len(whole), estimate, text)
