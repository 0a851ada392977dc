"""Ablation of a confirmed winner: which of its lines matter, and is it as good without the rest?

1. The winner runs in randomised blocks, twice in each, beside itself without an area of lines,
   then without the single lines of the areas that matter. 2. Without all that contributes nothing
   it is the reduced config, which is measured in fresh rounds with the winner and the baseline.

The results of the parts replay the looks after every block, because a part that was decided is not
measured any more: its verdict and its figures stay those of that look. A part may be decided too
early by that; what is recommended without its lines is therefore measured afresh.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar

from tuning.statistics.analysis import Analysis, analyse
from tuning.statistics.confirmation import (
    MIN_PAIRS,
    RemovalState,
    margin_of,
    removal_state,
    rounds_needed,
)
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.strategy.ablation.parts import MAX_PARTS, Part, first_parts
from tuning.strategy.design import ablation_order, reduced_rounds
from tuning.strategy.protocol import (
    Budget,
    Done,
    History,
    NewCandidate,
    Proposal,
    StopReason,
)
from tuning.strategy.racing import FAULTS
from tuning.strategy.whole import Whole

# Runs of a round: the reduced config, the whole and the baseline.
ROUND = 3
#: The most runs for one winner; each durability class has its own, on each device and workload.
MAX_ABLATION_RUNS = 100
MAX_NAME = 100


@dataclass(frozen=True)
class Ablation:
    """Every group's confirmed winner, one after the other; `metric` is the one that decides.

    Nothing in a study that is being concluded.
    """

    metric: Metric = Metric.THROUGHPUT
    cuts_short: ClassVar[bool] = False

    def propose(self, history: History) -> Proposal | Done:
        for group in history.groups if not history.concludes else ():
            if group.whole is not None and (answer := self._next(history, group.whole)):
                return answer
        return Done((StopReason.ABLATED,))

    def _next(self, history: History, whole: Whole) -> Proposal | None:
        results, budget = part_results(whole, self.metric), _budget_of(history, whole)
        if parts := _affordable(results.open, budget, whole):
            return _block(history, whole, parts)
        if rounds := _rounds(history, whole, results, budget):
            return rounds
        # Time that is too short for a round still tells which lines matter.
        parts = _affordable(results.open, budget, whole, keeps_rounds=False)
        return _block(history, whole, parts) if parts else None


def _budget_of(history: History, whole: Whole) -> Budget:
    budget = history.ablation_budget
    limits = [runs for runs in (budget.runs_left, whole.runs_left) if runs is not None]
    return replace(budget, runs_left=min(limits, default=None))


def is_left(whole: Whole, metric: Metric, budget: Budget, baseline: str) -> bool:
    """Whether its ablation would measure anything more."""
    results = part_results(whole, metric)
    if _affordable(results.open, budget, whole, keeps_rounds=False):
        return True
    return _rounds_left(whole, results, budget, baseline) > 0


def _runs_of_round(budget: Budget, whole: Whole) -> int:
    """Return the cost of a round, in runs as long as those of the blocks."""
    return ROUND if not budget.run_s else ceil(ROUND * (1 + whole.longer_s / budget.run_s))


def _affordable(
    there: Sequence[PartResult], budget: Budget, whole: Whole, *, keeps_rounds: bool = True
) -> list[Part]:
    """Return the parts of the next block: so many that they can be decided.

    keeps_rounds: so many that the winner without them can be measured afresh as well.
    """
    rounds = _runs_of_round(budget, whole) * MIN_PAIRS if keeps_rounds else 0
    for count in range(min(len(there), MAX_PARTS), 0, -1):
        first = there[:count]
        blocks = max(MIN_BLOCKS - min(one.blocks for one in first), 1)
        # The whole runs twice in each block.
        if budget.allows((count + 2) * blocks + rounds):
            return [one.part for one in first]
    return []


def _block(history: History, whole: Whole, parts: Sequence[Part]) -> Proposal:
    new: list[NewCandidate] = []
    names: list[str] = []
    for part in parts:
        without = frozenset(part.lines)
        if known := whole.variant(without):
            names.append(whole.measured_as(known))
            continue
        taken = {*history.knobs, *(one.name for one in new)}
        name = _free(f" without {_short(part)}", whole.name, taken)
        source = f"{whole.name} without {', '.join(part.lines)}, to see what that contributes"
        new.append(NewCandidate(name, whole.knobs_without(without), source, whole.name, without))
        names.append(name)
    block = history.last_block + 1
    runs = ablation_order(list(dict.fromkeys(names)), whole.name, block, history.seed)
    return Proposal(runs, new=tuple(new))


def _rounds_left(whole: Whole, results: PartResults, budget: Budget, baseline: str) -> int:
    """Return how many fresh rounds the reduced config gets.

    0 if there is none, if it cannot be measured or was, or if the time does not suffice.
    """
    if not results.dropped:
        return 0
    if name := whole.variant(results.dropped):
        had_rounds = {run.candidate for run in whole.rounds}
        is_known = whole.measured_as(name) in {whole.name, baseline, *had_rounds}
        if whole.variants[name].refusal or is_known:
            return 0
    count = rounds_needed(results.run_noise, results.margin)
    if budget.runs is not None:
        count = min(count, budget.runs // _runs_of_round(budget, whole))
    return count if count >= MIN_PAIRS else 0


def _rounds(
    history: History, whole: Whole, results: PartResults, budget: Budget
) -> Proposal | None:
    count = _rounds_left(whole, results, budget, history.baseline)
    if not count:
        return None
    without = results.dropped
    new: tuple[NewCandidate, ...] = ()
    if known := whole.variant(without):
        measured = whole.measured_as(known)
    else:
        measured = _free(" reduced", whole.name, history.knobs)
        source = f"{whole.name} without {', '.join(sorted(without))}, which contribute nothing"
        new = (NewCandidate(measured, whole.knobs_without(without), source, whole.name, without),)
    names = (measured, whole.name, history.baseline)
    first = history.last_block + 1
    runs = reduced_rounds(names, count, first, history.seed, whole.measure_s)
    return Proposal(runs, new=new)


def _short(part: Part) -> str:
    """Return a short name: the area of a group, else the first line."""
    if part.area and not part.is_single:
        return part.area
    more = len(part.lines) - len(part.units[0])
    return " + ".join(part.units[0]) if not more else f"{part.lines[0]} and {more} more"


def _free(suffix: str, whole: str, taken: Container[str]) -> str:
    """A name that no candidate has, as long as a candidate's may be."""
    number = 1
    while True:
        tail = suffix[: MAX_NAME // 2] + (f" ({number})" if number > 1 else "")
        name = whole[: MAX_NAME - len(tail)] + tail
        if name not in taken:
            return name
        number += 1


# Fewer blocks show neither noise nor outliers; more than the latter decide little.
MIN_BLOCKS = 3
MAX_BLOCKS = 10

DROPPED = frozenset({RemovalState.NO_EFFECT, RemovalState.SAME})
_SPLIT = frozenset({RemovalState.MATTERS, RemovalState.NEEDED, RemovalState.UNSETTLED})


@dataclass(frozen=True)
class PartResult:
    """The result of a part; `state` None is "still being measured".

    estimate: the metric without the part divided by that of the whole; its interval holds for all
    parts at once. blocks: how many it was measured in. reason: why the config without it cannot
    be used.
    """

    part: Part
    state: RemovalState | None
    estimate: Estimate | None = None
    blocks: int = 0
    reason: str = ""


@dataclass(frozen=True)
class PartResults:
    """results: of every part that was begun or waits, groups before their lines.

    run_noise as in `Analysis`; margin: what may be lost, as a log.
    """

    margin: float
    results: tuple[PartResult, ...]
    run_noise: float | None

    @property
    def open(self) -> list[PartResult]:
        """The parts that are not decided, those that were begun first."""
        there = [one for one in self.results if one.state is None]
        return sorted(there, key=lambda one: -one.blocks)

    @property
    def dropped(self) -> frozenset[str]:
        """The lines that contribute nothing; none if only the server's own values go."""
        there = [one for one in self.results if one.state in DROPPED]
        if all(one.state is RemovalState.SAME for one in there):
            return frozenset()
        return frozenset(line for one in there for line in one.part.lines)


def part_results(whole: Whole, metric: Metric) -> PartResults:
    """Return the results so far; every run of a block must have ended."""
    margin = margin_of(whole.lead)
    waiting, decided = first_parts(whole), list[PartResult]()
    still: list[PartResult] = []
    analysis = None
    # The first look, before any block, decides what is refused or changes nothing.
    for last in [0, *sorted({run.block for run in whole.runs})]:
        seen = [run for run in whole.runs if run.block <= last]
        if seen:
            names = sorted({run.candidate for run in seen} - {whole.name})
            analysis = analyse(seen, whole.name, names, metric)
        still = []
        while waiting:
            found = _result(waiting.pop(0), whole, seen, analysis, margin)
            if found.state is None:
                still.append(found)
                continue
            decided.append(found)
            if found.state in _SPLIT and not found.part.is_single:
                waiting += found.part.split()
        waiting = [one.part for one in still]
    run_noise = whole.run_noise if analysis is None else analysis.run_noise
    return PartResults(margin, (*decided, *still), run_noise)


def _result(
    part: Part, whole: Whole, seen: Sequence[Observation], analysis: Analysis | None, margin: float
) -> PartResult:
    name = whole.variant(frozenset(part.lines))
    if not name:
        return PartResult(part, None)
    variant = whole.variants[name]
    if variant.refusal:
        return PartResult(part, RemovalState.NEEDED, reason=variant.refusal)
    if variant.same_as == whole.name:
        return PartResult(part, RemovalState.SAME)
    measured_as = whole.measured_as(name)
    mine = [run for run in seen if run.candidate == measured_as]
    faults = [run.outcome for run in mine if run.outcome in FAULTS]
    blocks = len({run.block for run in mine})
    if faults:
        reason = f"without it a run failed: {faults[0]}"
        return PartResult(part, RemovalState.NEEDED, blocks=blocks, reason=reason)
    if analysis is None or not blocks:
        return PartResult(part, None, blocks=blocks)
    standing, state = analysis.standing(measured_as), None
    if blocks >= MIN_BLOCKS:
        state = removal_state(standing, analysis.metric, margin)
    if state is None and blocks >= MAX_BLOCKS:
        state = RemovalState.UNSETTLED
    return PartResult(part, state, standing.estimate, blocks)


def of_each_line(found: PartResults) -> list[PartResult]:
    """Return the last result on every line; a group that was split has those of its parts.

    Open parts have not been measured often enough to decide anything.
    """
    split = [set(one.part.lines) for one in found.results]
    return [
        one for one in found.results if not any(lines < set(one.part.lines) for lines in split)
    ]
