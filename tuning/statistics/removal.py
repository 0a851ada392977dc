"""The loss of a config without some of its lines: is it nothing measurable?

A line is left out only if the config without it loses at most a margin: not finding a loss is no
evidence that there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

from tuning.statistics.analysis import Standing
from tuning.statistics.confirmation import (
    MAX_PAIRS,
    Confirmation,
    ConfirmationState,
    confirm,
    pairs_to_show,
)
from tuning.statistics.data import Metric

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
