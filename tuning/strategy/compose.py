"""The strategy of a study or a gate, composed of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Verdict, judge_gate
from tuning.strategy.ablation.ablate import Ablation
from tuning.strategy.confirmation import Confirmation
from tuning.strategy.design import gate_pair
from tuning.strategy.protocol import Done, History, Proposal, StopReason, Strategy
from tuning.strategy.racing import FixedBlocks, Race
from tuning.strategy.search.plan import SearchPlan
from tuning.strategy.search.search import Search

#: Runs of a pair of a gate.
PAIR = 2


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


@dataclass(frozen=True)
class Gate:
    """Measures one more pair of candidate and baseline as long as the plan's verdict is open.

    A candidate that was refused or failed by its own fault needs no more pairs, and neither does
    one whose runs cannot be compared with the baseline's. One that a user concludes ends as it is.
    """

    plan: GatePlan
    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        others = [name for name in history.candidates if name != history.baseline]
        if not others or history.gate.stopped or history.concludes:
            return Done((StopReason.NONE_LEFT,))
        if judge_gate(self.plan, history.gate.pairs).verdict is not Verdict.UNDECIDED:
            return Done((StopReason.DECIDED,))
        if history.gate.begun >= self.plan.max_pairs or not history.budget.allows(PAIR):
            return Done((StopReason.BUDGET,))
        block = history.last_block + 1
        return Proposal(gate_pair(others[0], history.baseline, block, history.seed))


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
    metric = Metric.THROUGHPUT if search is None else search.aim.objective
    blocks: Strategy = Race(metric) if races else FixedBlocks()
    rest = OneAfterAnother(blocks, Confirmation(metric)) if confirms else blocks
    rest = OneAfterAnother(rest, Ablation(metric)) if confirms and ablates else rest
    return rest if search is None else Search(search, rest)
