"""The protocol of a strategy: given what was measured, it proposes what to measure next.

A place is one device with one workload. A strategy is called again when all that it proposed has
been measured. It has no state of its own and reads no rows: the same history always gives the
same proposal, so that a proposal that was lost in a crash is simply made again.
`tuning.studies.continuation` makes the history from rows, and rows from the proposal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import floor
from typing import Protocol

from tuning.statistics.data import Observation
from tuning.statistics.gate import PairFigures
from tuning.strategy.whole import Whole


class StopReason(StrEnum):
    DECIDED = "decided"  # one candidate is left and measurably better than the baseline
    NONE_LEFT = "none_left"  # no candidate can beat the baseline any more
    BUDGET = "budget"  # no further block fits, or as many as were planned are done
    CONFIRMED = "confirmed"  # whatever deserves fresh pairs has them
    ABLATED = "ablated"  # every confirmed winner is, as far as its time allows


class Purpose(StrEnum):
    """The purpose of a run; the values are those of `tuning.models.SlotPurpose`."""

    BLOCK = "block"
    CONFIRMATION = "confirmation"
    # A search measures a config once. Never part of a board, a ranking or a recommendation.
    SEARCH = "search"
    # A winner beside itself without some of its lines, and then the reduced config in fresh
    # rounds with the winner and the baseline. Neither is part of a board or a ranking.
    ABLATION = "ablation"
    REDUCED = "reduced"
    # A pair of a gate: part of no board, ranking or recommendation.
    GATE = "gate"


#: The purposes that a study does not measure any more once it is being concluded.
NOT_FOR_AN_ANSWER = frozenset({Purpose.SEARCH, Purpose.ABLATION, Purpose.REDUCED})


@dataclass(frozen=True)
class Budget:
    """The budget left for blocks and screening; None is "no limit".

    `run_s`: seconds of a run. `runs_spent`: runs of both so far.
    """

    runs_left: int | None = None
    seconds_left: float | None = None
    run_s: float | None = None
    runs_spent: int = 0

    def allows(self, runs: int) -> bool:
        """Whether so many more runs fit."""
        return self.runs is None or runs <= self.runs

    @property
    def runs(self) -> int | None:
        """Runs that still fit, by whichever limit is nearer."""
        limits = []
        if self.runs_left is not None:
            limits.append(self.runs_left)
        if self.seconds_left is not None and self.run_s:
            limits.append(floor(self.seconds_left / self.run_s))
        return min(limits) if limits else None


@dataclass(frozen=True)
class FreshPair:
    """A candidate and the baseline measured once more.

    figure, baseline_figure: of the metric that decides; None for a run without one.
    is_earlier: measured before the study was extended.
    """

    candidate: str
    block: int
    figure: float | None
    baseline_figure: float | None
    is_earlier: bool = False

    @property
    def is_whole(self) -> bool:
        return bool(self.figure and self.baseline_figure)


@dataclass(frozen=True)
class PairTime:
    """The time that fresh pairs may take: `seconds` in all.

    A run of `measure_s` measured seconds takes `overhead_s` beside them.
    """

    seconds: float
    measure_s: int
    overhead_s: float

    @property
    def pairs(self) -> int:
        """Pairs as long as the blocks' runs that fit."""
        return floor(self.seconds / (2 * (self.measure_s + self.overhead_s)))


@dataclass(frozen=True)
class GateSeen:
    """The pairs that a gate has measured: its whole `pairs` in order, and how many were `begun`.

    stopped: why more pairs would be of no use, whatever the figures say; "" if they are.
    """

    pairs: tuple[PairFigures, ...] = ()
    begun: int = 0
    stopped: str = ""


@dataclass(frozen=True)
class Group:
    """The candidates of one durability class, which are judged among themselves.

    candidates: the baseline, which is in every group, and those of the class.
    observations: their ended runs in blocks, as far as they can be compared.
    failed: candidates that are no advice: a run failed, be it in a block or in a pair, or what
        they measure misses a limit that the user set.
    whole: the winner of these that can be tested line by line, because fresh pairs confirmed it.
    """

    name: str
    candidates: tuple[str, ...]
    observations: tuple[Observation, ...] = ()
    failed: frozenset[str] = frozenset()
    pairs: tuple[FreshPair, ...] = ()
    whole: Whole | None = None

    @property
    def tried(self) -> dict[str, list[FreshPair]]:
        """The pairs by candidate, in the order in which the candidates were tried."""
        found: dict[str, list[FreshPair]] = {}
        for pair in sorted(self.pairs, key=lambda pair: pair.block):
            found.setdefault(pair.candidate, []).append(pair)
        return found

    def among(self, names: Collection[str]) -> Group:
        """Return the group as if it had no candidates but these."""
        return replace(
            self,
            candidates=tuple(name for name in self.candidates if name in names),
            observations=tuple(run for run in self.observations if run.candidate in names),
            failed=self.failed & frozenset(names),
            pairs=tuple(pair for pair in self.pairs if pair.candidate in names),
        )


@dataclass(frozen=True)
class History:
    """All that a strategy may know of one device and workload.

    candidates: those that can be measured, the baseline first; refused ones are not among them.
    dropped: name to reason of those that left earlier, here.
    blocks: how many blocks there were; last_block: the highest number of a block or pair.
    planned_blocks: how many were requested; owed_blocks: of those that an extension added, how
        many are still to be measured, whatever the budget says and whether or not all is decided.
    concludes: whether a user wants an answer from what is there: no new config and no new block,
        but the blocks that a search needs to tell its best few apart, and the confirmation.
    alpha: the error rate of the study's conclusion.
    knobs: what each candidate of the study sets, normalised; also of refused ones and duplicates.
    refused: candidates that the gate or the server refused, and why.
    duplicates: candidates with the effective values of another, which is measured for both.
    screened: the ended runs of a search, the baseline's included; failed ones keep their outcome.
    finalists: the candidates that have runs in blocks. In a study that searches only these race.
    settle_s: measured seconds after which the write debt of a candidate stops growing, for those
        whose runs ended before that.
    pair_time: what pairs may take, None without a limit.
    ablation_budget: what an ablation may still spend.
    gate: the pairs of a gate; none in any other study.

    Variants of a winner are in `knobs`, `refused` and `duplicates`, but no candidates: they never
    race.
    """

    seed: int
    baseline: str
    candidates: tuple[str, ...]
    groups: tuple[Group, ...]
    planned_blocks: int
    budget: Budget
    dropped: Mapping[str, str] = field(default_factory=dict)
    blocks: int = 0
    last_block: int = 0
    owed_blocks: int = 0
    concludes: bool = False
    alpha: float = 0.05
    knobs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    duplicates: Mapping[str, str] = field(default_factory=dict)
    screened: tuple[Observation, ...] = ()
    finalists: tuple[str, ...] = ()
    settle_s: Mapping[str, float] = field(default_factory=dict)
    pair_time: PairTime | None = None
    ablation_budget: Budget = Budget()
    gate: GateSeen = GateSeen()

    @property
    def changes(self) -> dict[str, int]:
        """How many variables each config of the study sets otherwise than the baseline."""
        return count_changes(self.knobs, self.baseline) if self.baseline in self.knobs else {}

    @property
    def left(self) -> tuple[str, ...]:
        """The candidates that have not left, the baseline first."""
        return tuple(name for name in self.candidates if name not in self.dropped)

    def among(self, names: Collection[str]) -> History:
        """Return the history as if there were no candidates but these and the baseline.

        For the race and the confirmation of a search: those that were only screened are not
        corrected for, because the race decides on fresh runs.
        """
        here = {self.baseline, *names}
        return replace(
            self,
            candidates=tuple(name for name in self.candidates if name in here),
            groups=tuple(group.among(here) for group in self.groups),
        )


def count_changes(knobs: Mapping[str, Mapping[str, str]], baseline: str) -> dict[str, int]:
    """Count by config the variables that differ from the baseline.

    `knobs`: by config what it sets, normalised; the baseline must be among them.
    """
    usual = knobs[baseline]
    return {
        name: sum(mine.get(knob) != usual.get(knob) for knob in {*mine, *usual})
        for name, mine in knobs.items()
    }


@dataclass(frozen=True, order=True)
class PlannedRun:
    """One run to measure. `replicate` is 1 for the baseline's second run in a block (A/A).

    `measure_s`: seconds to measure; 0 for those of the place's workload.
    """

    candidate: str
    block: int
    replicate: int = 0
    purpose: Purpose = Purpose.BLOCK
    measure_s: int = 0


@dataclass(frozen=True)
class NewCandidate:
    """A config that the strategy made itself; `source` says how, in words for the user.

    of, without: of a variant, the winner that it is made from and the lines that it lacks.
    """

    name: str
    knobs: Mapping[str, str]
    source: str
    of: str = ""
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Proposal:
    """The next measurement: `runs` in their order.

    dropped: candidates that leave now, and why in words. new: candidates that `runs` may name,
    under names that the study does not have yet. Those that the gate or the server refuses and
    duplicates get no run; where nothing is left beside the baseline, none of `runs` is measured
    and the strategy is asked again, with a history that says so. The same holds where the reduced
    config of a `Purpose.REDUCED` proposal gets no run.
    """

    runs: tuple[PlannedRun, ...]
    dropped: Mapping[str, str] = field(default_factory=dict)
    new: tuple[NewCandidate, ...] = ()


@dataclass(frozen=True)
class Done:
    """Nothing more is to be measured here, and why; `dropped` as in a proposal.

    unraced: candidates of a search that deserve a race for which the budget has no run left.
    """

    reasons: tuple[StopReason, ...]
    dropped: Mapping[str, str] = field(default_factory=dict)
    unraced: tuple[str, ...] = ()


class Strategy(Protocol):
    """Every implementation is held to `tuning/strategy/tests/test_contract.py`."""

    @property
    def cuts_short(self) -> bool:
        """Whether a candidate's run that is too slow may be stopped early (`early_stop`)."""
        ...

    def propose(self, history: History) -> Proposal | Done:
        """Return what to measure next. All that was proposed before has ended."""
        ...
