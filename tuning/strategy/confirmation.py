"""Measures a winner again, in fresh pairs with the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tuning.statistics.analysis import analyse
from tuning.statistics.confirmation import MIN_PAIRS, pairs_needed
from tuning.statistics.data import Metric
from tuning.strategy.design import confirmation_pairs
from tuning.strategy.protocol import Done, Group, History, PlannedRun, Proposal, StopReason


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
    """The winner's pairs; empty if there is no winner or it has its pairs already."""
    names = [name for name in group.candidates if name not in group.failed]
    seen = [run for run in group.observations if run.candidate not in group.failed]
    analysis = analyse(seen, history.baseline, names, metric, history.alpha)
    winner = analysis.winner
    if winner not in names or any(pair.candidate == winner for pair in group.pairs):
        return ()
    count = min(pairs_needed(analysis), max(MIN_PAIRS, 2 * history.planned_blocks))
    first = history.last_block + 1
    return confirmation_pairs(winner, history.baseline, count, first, history.seed)
