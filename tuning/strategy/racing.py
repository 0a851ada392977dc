"""Blocks of candidates: fixed ones, and a race that decides after each block who stays.

The race is valid under repeated testing. All tests together drop the best candidate in at most
`DROP_ALPHA` of studies, and end a study too early in at most `DECIDE_ALPHA`: test number n uses
the share 1 / (n (n + 1)) of either. The conclusion has its own 5 %, and so has the confirmation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.outcomes import Outcome
from tuning.statistics.compare import ALPHA, Contrasts, compare
from tuning.statistics.data import Metric, Observation, table
from tuning.statistics.fit import Fit, fit
from tuning.strategy.design import block_order
from tuning.strategy.protocol import (
    Budget,
    Done,
    Group,
    History,
    PlannedRun,
    Proposal,
    StopReason,
)

Flags = NDArray[np.bool_]

DROP_ALPHA = 0.05
DECIDE_ALPHA = 0.01
# Fewer blocks show neither noise nor outliers. Dropping a candidate by mistake costs little.
# Ending the study by mistake costs more, and the two blocks in between are only three runs each
# when one candidate is left.
FIRST_LOOK = 3
FIRST_DECISION = 5
# A candidate that is cut short in more blocks than this is dropped; once may be due to the host.
CUTS_ALLOWED = 1

# A candidate that failed once is never recommended, so measuring it further is a waste.
FAULTS = frozenset(
    {
        Outcome.INVALID_CONFIG,
        Outcome.NO_START,
        Outcome.CRASHED,
        Outcome.OUT_OF_MEMORY,
        Outcome.DISK_FULL,
        Outcome.TIMED_OUT,
        Outcome.ZERO_WORK,
        Outcome.DRIVER_FAILED,
    }
)


@dataclass(frozen=True)
class FixedBlocks:
    """Blocks of all candidates until the planned number is done or the budget is spent.

    A parameter sweep (`races: false` in a study template) is exactly this, with a candidate per
    value: its claims are also about the slower values, so all are measured to the end.
    """

    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        if len(history.left) < 2:
            return Done((StopReason.NONE_LEFT,))
        is_wanted = history.blocks < history.planned_blocks or history.owed_blocks > 0
        if not is_wanted or not _budget_of(history).allows(len(history.left) + 1):
            return Done((StopReason.BUDGET,))
        return Proposal(_block(history, history.left))


@dataclass(frozen=True)
class Race:
    """Blocks of the candidates that are still in the race of their group.

    The groups share the blocks. Blocks of an extension are measured with the remaining candidates
    even if the race is decided. `metric` is the one that decides.
    """

    metric: Metric = Metric.THROUGHPUT
    cuts_short: ClassVar[bool] = True

    def propose(self, history: History) -> Proposal | Done:
        budget = _budget_of(history)
        steps = [next_step(group, history, budget, self.metric) for group in history.groups]
        dropped = {name: reason for step in steps for name, reason in step.dropped.items()}
        names = {name for step in steps for name in step.run}
        if names and budget.allows(len(names) + 1):
            return Proposal(_block(history, names), dropped)
        reasons = dict.fromkeys(step.stop or StopReason.BUDGET for step in steps)
        return Done(tuple(reasons), dropped)


def _block(history: History, names: Collection[str]) -> tuple[PlannedRun, ...]:
    """The runs of the next block, for the candidates of the history that are in `names`."""
    there = [name for name in history.candidates if name in names]
    return block_order(there, history.baseline, history.last_block + 1, history.seed)


def _budget_of(history: History) -> Budget:
    """The budget of the next block; blocks of an extension are measured whatever they cost.

    There is none for others in a study that is being concluded, nor once a winner has its pairs:
    what these save of the time must not change what won.
    """
    if history.owed_blocks:
        return Budget()
    is_over = history.concludes or any(group.pairs for group in history.groups)
    return Budget(runs_left=0) if is_over else history.budget


def drop_alpha(blocks: int) -> float:
    """The error rate of dropping candidates after this many blocks."""
    look = blocks - FIRST_LOOK + 1
    return DROP_ALPHA / (look * (look + 1))


def decide_alpha(blocks: int) -> float:
    """The error rate of ending a study after this many blocks."""
    look = blocks - FIRST_DECISION + 1
    return DECIDE_ALPHA / (look * (look + 1))


def conclusion_alpha(conclusion: int) -> float:
    """The error rate of a study's conclusion: 5 % for the first, less after each extension.

    All together stay below 8.2 %, so false winners, which err to one side only, stay below 5 %.
    """
    return ALPHA / conclusion**2


def keep(found: Contrasts, live: Flags) -> Flags:
    """(T,): which of the live treatments are not measurably below the best of them."""
    leader = _leader(found, live)
    is_best = found.effects >= found.effects[leader]
    kept: Flags = live & (found.tied(leader) | is_best)
    kept[0] = live[0]
    return kept


def decided(fitted: Fit, live: Flags, blocks: int) -> bool:
    """Whether only one candidate is left and measurably better than the baseline."""
    if blocks < FIRST_DECISION or live[1:].sum() != 1:
        return False
    return bool(compare(fitted, decide_alpha(blocks)).better[1:][live[1:]].all())


def _leader(found: Contrasts, live: Flags) -> int:
    return int(np.where(live, found.effects, -np.inf).argmax())


@dataclass(frozen=True)
class Step:
    """The next step of one group of candidates: run a block with `run`, or stop.

    run: candidates of the next block, the baseline first; it runs twice.
    dropped: candidates that leave now, with the reason in words.
    """

    run: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    stop: StopReason | None = None


def next_step(group: Group, history: History, budget: Budget, metric: Metric) -> Step:
    """The step after the blocks of a group, all complete (void runs measured again).

    Failed candidates are dropped here. While blocks are owed a decided race continues.
    """
    seen, baseline = group.observations, history.baseline
    left = [n for n in group.candidates if n != baseline and n not in history.dropped]
    dropped = _failed(seen, left)
    left = [name for name in left if name not in dropped]
    if len({run.block for run in seen}) >= FIRST_LOOK and left:
        worse, is_over = _look(group, baseline, left, metric)
        dropped |= worse
        left = [name for name in left if name not in worse]
        if is_over and left and not history.owed_blocks:
            return Step(dropped=dropped, stop=StopReason.DECIDED)
    if not left:
        return Step(dropped=dropped, stop=StopReason.NONE_LEFT)
    if not budget.allows(len(left) + 2):
        return Step(dropped=dropped, stop=StopReason.BUDGET)
    return Step(run=(baseline, *left), dropped=dropped)


def _failed(seen: Sequence[Observation], left: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in left:
        mine = [run for run in seen if run.candidate == name]
        faults = [run.outcome for run in mine if run.outcome in FAULTS and not run.is_cut_short]
        cuts = len({run.block for run in mine if run.is_cut_short})
        if faults:
            found[name] = f"a run failed: {faults[0]}"
        elif cuts > CUTS_ALLOWED:
            found[name] = f"cut short in {cuts} blocks"
    return found


def _look(
    group: Group, baseline: str, left: Sequence[str], metric: Metric
) -> tuple[dict[str, str], bool]:
    """Which are measurably below the leader, and whether that decides the study."""
    data = table(group.observations, baseline, group.candidates, metric)
    blocks = len(data.blocks)
    fitted = fit(data.y, data.treatment)
    found = compare(fitted, drop_alpha(blocks))
    measured = np.isfinite(found.effects)
    racing = np.array([name == baseline or name in left for name in data.names])
    live = racing & measured
    if not live[0] or not live[1:].any():
        return {}, False
    kept = keep(found, live)
    leader = data.names[_leader(found, live)]
    dropped = {
        data.names[i]: f"measurably below {leader} after {blocks} blocks"
        for i in np.flatnonzero(live & ~kept)
    }
    # A candidate without a figure so far, because it was cut short once, is still in the race.
    is_waiting = bool((racing & ~measured).any())
    return dropped, not is_waiting and decided(fitted, kept, blocks)
