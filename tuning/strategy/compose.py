"""Strategies composed of others, and the strategy of a study."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan
from tuning.strategy.ablation.ablate import Ablation
from tuning.strategy.blocks import FixedBlocks
from tuning.strategy.confirmation import Confirmation
from tuning.strategy.gate import Gate
from tuning.strategy.protocol import Done, History, Proposal, StopReason, Strategy
from tuning.strategy.racing import Race
from tuning.strategy.search.plan import SearchPlan
from tuning.strategy.search.search import Search


@dataclass(frozen=True)
class OneAfterAnother:
    """Follows the first strategy until it is done, then the second."""

    first: Strategy
    then: Strategy

    @property
    def cuts_short(self) -> bool:
        return self.first.cuts_short or self.then.cuts_short

    def propose(self, history: History) -> Proposal | Done:
        dropped: dict[str, str] = {}
        reasons: tuple[StopReason, ...] = ()
        for part in (self.first, self.then):
            answer = part.propose(history)
            dropped |= answer.dropped
            if isinstance(answer, Proposal):
                return Proposal(answer.runs, dropped, answer.new)
            reasons += answer.reasons
        return Done(reasons, dropped)


def strategy_for(
    *,
    races: bool,
    confirms: bool,
    ablates: bool = False,
    search: SearchPlan | None = None,
    gate: GatePlan | None = None,
) -> Strategy:
    """The strategy for these options; with a plan of a search, that comes before the blocks.

    Only a winner that was confirmed is tested line by line. A gate consists of nothing else.
    """
    if gate is not None:
        return Gate(gate)
    metric = Metric.TPMP if search is None else search.aim.objective
    blocks: Strategy = Race(metric) if races else FixedBlocks()
    rest = OneAfterAnother(blocks, Confirmation(metric)) if confirms else blocks
    rest = OneAfterAnother(rest, Ablation(metric)) if confirms and ablates else rest
    return rest if search is None else Search(search, rest)
