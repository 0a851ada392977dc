"""A gate: pairs of candidate and baseline, one after the other, until decided or spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tuning.statistics.gate import GatePlan, Verdict, judge_gate
from tuning.strategy.design import gate_pair
from tuning.strategy.protocol import Done, History, Proposal, StopReason

# Runs of a pair.
PAIR = 2


@dataclass(frozen=True)
class Gate:
    """Measures one more pair as long as the plan's verdict is open.

    Their orders are random, and balanced from two pairs to two (`gate_pair`).

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
