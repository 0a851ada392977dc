"""Confirmation: fresh pairs of a config and the baseline decide whether it is recommended.

The blocks choose the config, because it looks best in them, so its effect there is too high on
average (winner's curse). The fresh pairs played no part in that choice: they alone decide.

A config that is no better than the baseline is recommended in at most 2.5 % of rankings. If the
pairs of the first config fail, those of the runner-up decide with the rest of that error: the
first gets 2 %, the second 0.4 %, and so on, however often a study is extended (`error_of`).

Fresh rounds also decide whether a config without some of its lines loses nothing measurable. A
line is left out only if the config without it loses at most a margin: not finding a loss is no
evidence that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, exp, log

import numpy as np

from benchmarks.counted import counted
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.analysis import Analysis, Standing
from tuning.statistics.compare import ALPHA, critical_value
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
    half = float(critical_value(alpha, df)) * (2 * own / len(whole)) ** 0.5
    estimate, is_better = Estimate.of_gain(effect, half, alpha, metric), effect > half
    of = "" if metric is Metric.THROUGHPUT else f" {FULL_NAMES[metric]}"
    text = (
        f"{'Confirmed' if is_better else 'Not confirmed'}: {candidate} "
        f"{(estimate.ratio - 1) * 100:+.1f} %{of} against {baseline} in "
        f"{counted(len(whole), 'fresh pair')} ({estimate.text()})."
    )
    state = ConfirmationState.CONFIRMED if is_better else ConfirmationState.WITHDRAWN
    return Confirmation(state, len(whole), estimate, text)


# The most that may be lost without lines that are left out, as a share of the whole's figure...
MARGIN = 0.05
# ... and as a share of the whole's lead over the baseline.
MARGIN_OF_LEAD = 0.5


class RemovalState(StrEnum):
    """The result of the runs without some lines; lines of the first two states are left out."""

    NO_EFFECT = "no_effect"  # without them at most the margin is lost
    SAME = "same"  # the server has the same effective values without them
    MATTERS = "matters"  # without them the config is measurably worse
    NEEDED = "needed"  # without them it is refused, or a run failed
    UNSETTLED = "unsettled"  # more than the margin may be lost
    UNTESTED = "untested"  # the time did not suffice


class ReductionState(StrEnum):
    """The result of the fresh runs of the reduced config."""

    UNFINISHED = "unfinished"
    VERIFIED = "verified"  # better than the baseline, and loses at most the margin
    LOSES = "loses"  # it loses more than the margin, or may
    NOT_CONFIRMED = "not_confirmed"  # not measurably better than the baseline


@dataclass(frozen=True)
class Reduction:
    """The reduced config against the baseline and the whole; intervals of one comparison each."""

    state: ReductionState
    to_baseline: Confirmation
    to_whole: Confirmation


def margin_of(lead: float) -> float:
    """Return the most that may be lost, a log; `lead`: log of the whole's confirmed ratio."""
    return min(-log(1 - MARGIN), MARGIN_OF_LEAD * max(lead, 0.0))


def removal_state(found: Standing, metric: Metric, margin: float) -> RemovalState | None:
    """Return the state by a standing against the whole; None if it settles nothing."""
    if found.estimate is None or not found.estimate.has_interval:
        return None
    low, high = found.estimate.gains(metric)
    if high < 0:
        return RemovalState.MATTERS
    return RemovalState.NO_EFFECT if low > -margin else None


def rounds_needed(run_noise: float | None, margin: float) -> int:
    """Return how many fresh rounds are likely to show that a config is as good as the whole."""
    if run_noise is None or margin <= 0:
        return MAX_PAIRS
    return pairs_to_show(margin, run_noise)


def judge_reduction(
    rounds: Sequence[tuple[float | None, float | None, float | None]],
    names: tuple[str, str, str],
    *,
    margin: float,
    run_noise: float | None = None,
    metric: Metric = Metric.THROUGHPUT,
) -> Reduction:
    """Judge fresh rounds of (reduced, whole, baseline), whose names are `names`.

    Call it only when all rounds are measured: their number is fixed before the first one.
    """
    reduced, whole, baseline = names
    to_baseline = confirm(
        [(one[0], one[2]) for one in rounds], reduced, baseline, run_noise=run_noise, metric=metric
    )
    to_whole = confirm(
        [(one[0], one[1]) for one in rounds], reduced, whole, run_noise=run_noise, metric=metric
    )
    return Reduction(_state(to_baseline, to_whole, metric, margin), to_baseline, to_whole)


def loss_text(margin: float) -> str:
    """A margin in percent, as "5.0 %"."""
    return f"{(1 - exp(-margin)) * 100:.1f} %"


def _state(
    to_baseline: Confirmation, to_whole: Confirmation, metric: Metric, margin: float
) -> ReductionState:
    if ConfirmationState.UNFINISHED in (to_baseline.state, to_whole.state):
        return ReductionState.UNFINISHED
    if to_baseline.state is not ConfirmationState.CONFIRMED:
        return ReductionState.NOT_CONFIRMED
    if to_whole.estimate is None or to_whole.estimate.gains(metric)[0] <= -margin:
        return ReductionState.LOSES
    return ReductionState.VERIFIED
