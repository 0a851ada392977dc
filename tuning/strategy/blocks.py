"""Fixed blocks: every candidate runs in each of the planned blocks.

A parameter sweep (`races: false` in a study template) is exactly this, with a candidate per
value: its claims are also about the slower values, so all are measured to the end.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from tuning.strategy.design import block_order
from tuning.strategy.protocol import Budget, Done, History, PlannedRun, Proposal, StopReason


@dataclass(frozen=True)
class FixedBlocks:
    """Blocks of all candidates until the planned number is done or the budget is spent."""

    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        if len(history.left) < 2:
            return Done((StopReason.NONE_LEFT,))
        is_owed = history.owed_blocks > 0
        wanted = history.blocks < history.planned_blocks or is_owed
        if not wanted or not blocks_budget(history).allows(len(history.left) + 1):
            return Done((StopReason.BUDGET,))
        return Proposal(next_block_of(history, history.left))


def next_block_of(history: History, names: Collection[str]) -> tuple[PlannedRun, ...]:
    """The runs of the next block, for the candidates of the history that are in `names`."""
    there = [name for name in history.candidates if name in names]
    return block_order(there, history.baseline, history.last_block + 1, history.seed)


def blocks_budget(history: History) -> Budget:
    """The budget of the next block; blocks of an extension are measured whatever they cost.

    There is none for others in a study that is being concluded, nor once a winner has its pairs:
    what these save of the time must not change what won.
    """
    if history.owed_blocks:
        return Budget()
    is_over = history.concludes or any(group.pairs for group in history.groups)
    return Budget(runs_left=0) if is_over else history.budget
