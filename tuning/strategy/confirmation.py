"""Measures the best-looking candidate again, in fresh pairs that decide, then the runner-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import ClassVar

from tuning.statistics.analysis import Analysis, analyse
from tuning.statistics.confirmation import (
    MAX_PAIRS,
    MAX_TRIED,
    MIN_PAIRS,
    ConfirmationState,
    confirm_each,
    is_worth_pairs,
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
from tuning.strategy.racing import FIRST_LOOK

#: The share of a ranking's time that is kept for fresh pairs.
PAIRS_SHARE = 0.25
#: Seconds of the longest run of a pair.
MAX_PAIR_S = 3600
# Pairs that would hardly be longer than the blocks' runs stay as they are.
MIN_GAIN = 1.25


@dataclass(frozen=True)
class Confirmation:
    """The pairs of every group's best-looking candidate, one group after the other; then done.

    The candidate is the first that never failed of `Analysis.choices`, by all blocks. If its pairs
    do not confirm it, the next one gets pairs, where those are likely to show what it promises.
    Confirming must not cost more than choosing. `metric` is the one that decides.
    """

    metric: Metric = Metric.THROUGHPUT
    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        for group in history.groups:
            if runs := _pairs(history, group, self.metric):
                return Proposal(runs)
        return Done((StopReason.CONFIRMED,))


def _pairs(history: History, group: Group, metric: Metric) -> tuple[PlannedRun, ...]:
    names = [name for name in group.candidates if name not in group.failed]
    seen = [run for run in group.observations if run.candidate not in group.failed]
    analysis = analyse(seen, history.baseline, names, metric, history.alpha, history.changes)
    tried = group.tried
    figures = {
        name: [(pair.figure, pair.baseline_figure) for pair in pairs]
        for name, pairs in tried.items()
    }
    found = confirm_each(figures, history.baseline, run_noise=analysis.run_noise, metric=metric)
    for name in analysis.choices:
        if name not in found:
            count = _count(history, group, analysis, name)
        elif found[name].state is ConfirmationState.UNFINISHED:
            count = _missing(tried[name])
        elif found[name].state is ConfirmationState.CONFIRMED:
            count = 0
        else:
            continue
        return _planned(history, name, count) if count else ()
    return ()


def _count(history: History, group: Group, analysis: Analysis, name: str) -> int:
    """How many pairs an untried candidate gets; 0 if it gets none."""
    most = most_pairs(history.planned_blocks, len(group.candidates) - 1)
    time = history.pair_time
    if group.tried:
        fresh = {p.candidate for p in group.pairs if not p.is_earlier} - group.failed
        has_time = time is None or time.pairs >= MIN_PAIRS
        is_worth = is_worth_pairs(analysis, name, most) and has_time
        if len(fresh) >= MAX_TRIED or not is_worth:
            return 0
    count = pairs_needed(analysis, name, most)
    return count if time is None else max(MIN_PAIRS, min(count, time.pairs))


def _planned(history: History, name: str, count: int) -> tuple[PlannedRun, ...]:
    first = history.last_block + 1
    measure_s = long_enough(history, name, count)
    return confirmation_pairs(name, history.baseline, count, first, history.seed, measure_s)


def _missing(pairs: Sequence[FreshPair]) -> int:
    whole = sum(pair.is_whole for pair in pairs)
    return MIN_PAIRS - whole if all(pair.is_earlier for pair in pairs) else 0


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


def pairs_seconds(share_s: float, run_s: float) -> float:
    """Return the seconds of a ranking kept for pairs: `MIN_PAIRS` to `MAX_PAIRS` fit."""
    fewest_s, most_s = (2 * pairs * run_s for pairs in (MIN_PAIRS, MAX_PAIRS))
    return max(fewest_s, min(PAIRS_SHARE * share_s, most_s))


def shortest_seconds(candidates: int, run_s: float) -> float:
    """Return the seconds of the shortest race that may drop a candidate, and of its pairs.

    candidates: without the baseline, which runs twice in a block. run_s: seconds of one run.
    """
    blocks_s = FIRST_LOOK * (candidates + 2) * run_s
    return blocks_s + pairs_seconds(blocks_s / (1 - PAIRS_SHARE), run_s)
