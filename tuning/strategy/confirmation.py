"""Measures a winner again, in fresh pairs with the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import ClassVar

from tuning.statistics.analysis import analyse
from tuning.statistics.confirmation import (
    MIN_PAIRS,
    MIN_WHOLE_PAIRS,
    most_pairs,
    pairs_needed,
)
from tuning.statistics.data import Metric
from tuning.strategy.design import confirmation_pairs
from tuning.strategy.protocol import (
    Done,
    FreshPair,
    Group,
    History,
    PlannedRun,
    Proposal,
    StopReason,
)

#: Seconds of the longest run of a pair.
MAX_PAIR_S = 3600
# Pairs that would hardly be longer than the blocks' runs stay as they are.
MIN_GAIN = 1.25


@dataclass(frozen=True)
class Confirmation:
    """The pairs of every group's winner, one group after the other; then done.

    The winner is the candidate that the study would recommend: judged by all its blocks, among
    those that never failed. Confirming must not cost more than the search for the winner.
    `metric` is the one that decides.
    """

    metric: Metric = Metric.TPMP
    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        for group in history.groups:
            if runs := _pairs(history, group, self.metric):
                return Proposal(runs)
        return Done((StopReason.CONFIRMED,))


def _pairs(history: History, group: Group, metric: Metric) -> tuple[PlannedRun, ...]:
    """The winner's pairs; empty if there is no winner or it has its pairs already.

    Where so many were void that nothing was said of it, an extension measures the missing ones.
    """
    names = [name for name in group.candidates if name not in group.failed]
    seen = [run for run in group.observations if run.candidate not in group.failed]
    analysis = analyse(seen, history.baseline, names, metric, history.alpha, history.changes)
    winner = analysis.winner
    if winner not in names:
        return ()
    count = min(pairs_needed(analysis), most_pairs(history.planned_blocks))
    if there := [pair for pair in group.pairs if pair.candidate == winner]:
        count = _missing(there)
    if not count:
        return ()
    first = history.last_block + 1
    measure_s = long_enough(history, winner, count)
    return confirmation_pairs(winner, history.baseline, count, first, history.seed, measure_s)


def _missing(pairs: Sequence[FreshPair]) -> int:
    """How many to add to those of earlier conclusions."""
    whole = sum(pair.is_whole for pair in pairs)
    if whole >= MIN_WHOLE_PAIRS or not all(pair.is_earlier for pair in pairs):
        return 0
    return MIN_PAIRS - whole


def long_enough(history: History, winner: str, pairs: int) -> int:
    """Seconds to measure in each run of the pairs; 0 for those of the blocks.

    A winner whose write debt was still growing is measured for as long as it takes to stop, as far
    as the time for its pairs allows. Both runs of a pair are equally long.
    """
    needed, time = history.settle_s.get(winner), history.pair_time
    if needed is None or time is None:
        return 0
    fits = time.seconds / (2 * pairs) - time.overhead_s
    seconds = floor(min(needed + 1, fits, MAX_PAIR_S))
    return seconds if seconds >= MIN_GAIN * time.measure_s else 0
