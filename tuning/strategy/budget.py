"""From minutes to blocks."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from tuning.statistics.confirmation import MAX_PAIRS, MIN_PAIRS
from tuning.strategy.racing import FIRST_LOOK

# The share of a study's minutes kept for fresh pairs.
PAIRS_SHARE = 0.25
_SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True)
class BudgetPlan:
    """The blocks and runs that fit into a budget.

    Warn before starting if `blocks` is below `min_blocks`.

    pairs_s: seconds kept for fresh pairs. needed_s: the shortest budget that has `min_blocks`.
    """

    blocks: int
    runs: int
    seconds: float
    pairs_s: float
    needed_s: float
    min_blocks: int = FIRST_LOOK

    @property
    def is_enough(self) -> bool:
        return self.blocks >= self.min_blocks


def pairs_seconds(share_s: float, run_s: float) -> float:
    """Return the seconds of a ranking kept for pairs: `MIN_PAIRS` to `MAX_PAIRS` fit."""
    fewest_s, most_s = (2 * pairs * run_s for pairs in (MIN_PAIRS, MAX_PAIRS))
    return max(fewest_s, min(PAIRS_SHARE * share_s, most_s))


def plan(minutes: float, candidates: int, run_s: float, setup_s: float = 0.0) -> BudgetPlan:
    """Blocks that fit into `minutes`; `candidates` excludes the baseline, which runs twice.

    `run_s`: seconds of one run including start, warm-up and clean-up; `setup_s`: once, for
    loading.
    Raises ValueError for a run that takes no time or a study without candidates.
    """
    if run_s <= 0 or candidates < 1:
        raise ValueError("a budget needs the seconds of a run and at least one candidate")
    share_s = minutes * _SECONDS_PER_MINUTE - setup_s
    pairs_s = pairs_seconds(share_s, run_s)
    runs_per_block = candidates + 2
    left = share_s - pairs_s
    blocks = max(0, floor(left / (runs_per_block * run_s)))
    runs = blocks * runs_per_block
    shortest_s = FIRST_LOOK * runs_per_block * run_s
    kept_s = pairs_seconds(shortest_s / (1 - PAIRS_SHARE), run_s)
    return BudgetPlan(
        blocks,
        runs,
        seconds=setup_s + runs * run_s + pairs_s,
        pairs_s=pairs_s,
        needed_s=setup_s + shortest_s + kept_s,
    )
