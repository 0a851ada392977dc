"""From minutes to blocks."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from tuning.statistics.confirmation import MIN_PAIRS
from tuning.strategy.racing import FIRST_LOOK

_SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True)
class BudgetPlan:
    """What fits into a budget. If `blocks` is below `min_blocks`, warn before starting.

    pairs_s: seconds reserved for confirming the winner; not used if there is none.
    """

    blocks: int
    runs: int
    seconds: float
    pairs_s: float
    min_blocks: int = FIRST_LOOK

    @property
    def is_enough(self) -> bool:
        return self.blocks >= self.min_blocks


def plan(minutes: float, candidates: int, run_s: float, setup_s: float = 0.0) -> BudgetPlan:
    """Blocks that fit into `minutes`; `candidates` excludes the baseline, which runs twice.

    `run_s`: seconds of one run including start, warm-up and clean-up; `setup_s`: once, for
    loading.
    Raises ValueError for a run that takes no time or a study without candidates.
    """
    if run_s <= 0 or candidates < 1:
        raise ValueError("a budget needs the seconds of a run and at least one candidate")
    pairs_s = 2 * MIN_PAIRS * run_s
    runs_per_block = candidates + 2
    left = minutes * _SECONDS_PER_MINUTE - setup_s - pairs_s
    blocks = max(0, floor(left / (runs_per_block * run_s)))
    runs = blocks * runs_per_block
    return BudgetPlan(blocks, runs, setup_s + runs * run_s + pairs_s, pairs_s)
