"""The results so far of each part of a winner.

Replays the looks after every block, because a part that was decided is not measured any more: its
verdict and its figures stay those of that look. A part may be decided too early by that; what is
recommended without its lines is therefore measured afresh (`tuning.statistics.removal`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuning.statistics.analysis import Analysis, analyse
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.statistics.removal import RemovalState, margin_of, removal_state
from tuning.strategy.ablation.parts import Part, first_parts
from tuning.strategy.racing import FAULTS
from tuning.strategy.whole import Whole

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
    """Return the result of a part by the runs `seen`, which `analysis` judges."""
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
    split = [one.part for one in found.results]
    return [
        one
        for one in found.results
        if not any(part is not one.part and _contains(one.part, part) for part in split)
    ]


def _contains(part: Part, other: Part) -> bool:
    """Whether the other part came out of this one."""
    return set(other.lines) < set(part.lines)
