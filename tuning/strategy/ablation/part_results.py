"""The results so far of each part of a winner.

Replays the looks after every block, because a part that was decided is not measured any more: its
verdict and its figures stay those of that look. A part may be decided too early by that; what is
recommended without its lines is therefore measured afresh (`tuning.statistics.removal`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass
class _Replay:
    whole: Whole
    metric: Metric
    margin: float
    open: list[Part]
    decided: list[PartResult] = field(default_factory=list)

    def look(self, seen: Sequence[Observation], analysis: Analysis | None) -> None:
        """Decide what can be decided, the parts of what was split included."""
        waiting = self.open
        self.open = []
        while waiting:
            part = waiting.pop(0)
            found = self.result(part, seen, analysis)
            if found.state is None:
                self.open.append(part)
                continue
            self.decided.append(found)
            if found.state in _SPLIT and not part.is_single:
                waiting += part.split()

    def result(
        self, part: Part, seen: Sequence[Observation], analysis: Analysis | None
    ) -> PartResult:
        name = self.whole.variant(frozenset(part.lines))
        if not name:
            return PartResult(part, None)
        variant = self.whole.variants[name]
        if variant.refusal:
            return PartResult(part, RemovalState.NEEDED, reason=variant.refusal)
        if variant.same_as == self.whole.name:
            return PartResult(part, RemovalState.SAME)
        measured_as = self.whole.measured_as(name)
        mine = [run for run in seen if run.candidate == measured_as]
        faults = [run.outcome for run in mine if run.outcome in FAULTS]
        blocks = len({run.block for run in mine})
        if faults:
            reason = f"without it a run failed: {faults[0]}"
            return PartResult(part, RemovalState.NEEDED, blocks=blocks, reason=reason)
        if analysis is None or not blocks:
            return PartResult(part, None, blocks=blocks)
        standing = analysis.standing(measured_as)
        state = None
        if blocks >= MIN_BLOCKS:
            state = removal_state(standing, self.metric, self.margin)
        if state is None and blocks >= MAX_BLOCKS:
            state = RemovalState.UNSETTLED
        return PartResult(part, state, standing.estimate, blocks)


def part_results(whole: Whole, metric: Metric) -> PartResults:
    """Return the results so far; every run of a block must have ended."""
    margin = margin_of(whole.lead)
    replay = _Replay(whole, metric, margin, first_parts(whole))
    replay.look((), None)
    analysis, seen = None, whole.runs
    for block in sorted({run.block for run in seen}):
        so_far = tuple(run for run in seen if run.block <= block)
        names = sorted({run.candidate for run in so_far} - {whole.name})
        analysis = analyse(so_far, whole.name, names, metric)
        replay.look(so_far, analysis)
    still = [replay.result(part, seen, analysis) for part in replay.open]
    return PartResults(
        margin,
        (*replay.decided, *still),
        analysis.run_noise if analysis is not None else whole.run_noise,
    )


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
