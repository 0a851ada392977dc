"""A made-up place that measures what a strategy proposes: histories without a server or a row."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchmarks.outcomes import Outcome
from tuning.statistics.data import Observation
from tuning.strategy.protocol import (
    Budget,
    Done,
    FreshPair,
    Group,
    History,
    PlannedRun,
    Proposal,
    Purpose,
    Strategy,
)
from tuning.strategy.racing import FAULTS

BASE = "base"
LEVEL = 6000.0


@dataclass
class Place:
    """Measures what is proposed, and keeps what a study's rows would.

    gains: log ratios to the baseline by candidate. groups: durability class to candidates.
    endings: outcomes other than "ok" by (candidate, block).
    refused, duplicates: what the gate says of candidates, as `History` has it; new ones join the
    first group as soon as they are proposed.
    """

    gains: Mapping[str, float]
    groups: dict[str, tuple[str, ...]]
    seed: int = 1
    noise: float = 0.02
    planned_blocks: int = 6
    runs: int | None = None
    owed_blocks: int = 0
    endings: Mapping[tuple[str, int], str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    duplicates: Mapping[str, str] = field(default_factory=dict)
    knobs: dict[str, Mapping[str, str]] = field(default_factory=dict)
    measured: list[PlannedRun] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    screened: list[Observation] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    pairs: dict[int, dict[str, float | None]] = field(default_factory=dict)

    def history(self) -> History:
        groups = tuple(self._group(name) for name in self.groups)
        in_blocks = [run for run in self.measured if run.purpose is Purpose.BLOCK]
        begun = len({run.block for run in in_blocks})
        spent = [run for run in self.measured if run.purpose is not Purpose.CONFIRMATION]
        raced = {run.candidate for run in in_blocks} - {BASE}
        names = [name for group in groups for name in group.candidates]
        runs = self.planned_blocks * (len(set(names)) + 1) if self.runs is None else self.runs
        return History(
            seed=self.seed,
            baseline=BASE,
            candidates=tuple(dict.fromkeys(names)),
            groups=groups,
            planned_blocks=self.planned_blocks,
            budget=Budget(runs_left=max(runs - len(spent), 0), runs_spent=len(spent)),
            dropped=dict(self.dropped),
            blocks=begun,
            last_block=max((run.block for run in self.measured), default=0),
            owed_blocks=max(self.owed_blocks - begun, 0),
            knobs=self._knobs(),
            refused={name: "refused" for name in self._all() if name in self.refused},
            duplicates={
                name: other for name, other in self.duplicates.items() if name in self._all()
            },
            screened=tuple(self.screened),
            finalists=tuple(name for name in dict.fromkeys(names) if name in raced),
        )

    def measure(self, proposal: Proposal) -> None:
        """All of its runs, each to its own ending; what is new joins the first group."""
        first = next(iter(self.groups))
        self.groups[first] += tuple(one.name for one in proposal.new)
        self.knobs |= {one.name: one.knobs for one in proposal.new}
        self.dropped |= proposal.dropped
        for run in self._queued(proposal):
            self.measured.append(run)
            outcome = self.endings.get((run.candidate, run.block), Outcome.OK.value)
            figure = self._figure(run) if outcome == Outcome.OK else None
            if run.purpose is Purpose.CONFIRMATION:
                self.pairs.setdefault(run.block, {})[run.candidate] = figure
                continue
            seen = self.screened if run.purpose is Purpose.SEARCH else self.observations
            seen.append(
                Observation(
                    run.candidate,
                    run.block,
                    outcome,
                    replicate=run.replicate,
                    tpmP=figure,
                    tpmP_at_most=LEVEL / 2 if outcome == "cut_short" else None,
                )
            )

    def _all(self) -> list[str]:
        return [BASE, *(name for names in self.groups.values() for name in names)]

    def _knobs(self) -> dict[str, Mapping[str, str]]:
        return {name: self.knobs.get(name, {}) for name in self._all()}

    def _queued(self, proposal: Proposal) -> list[PlannedRun]:
        """Without those of candidates that are not measured; none for the baseline alone."""
        gone = {*self.refused, *self.duplicates}
        runs = [run for run in proposal.runs if run.candidate not in gone]
        return runs if {run.candidate for run in runs} - {BASE} else []

    def _group(self, name: str) -> Group:
        gone = {*self.refused, *self.duplicates}
        mine = tuple(one for one in self.groups[name] if one not in gone)
        seen = tuple(run for run in self.observations if run.candidate in (BASE, *mine))
        failed = {run.candidate for run in seen if run.outcome in FAULTS} - {BASE}
        pairs = [
            FreshPair(one, block, figures[one], figures.get(BASE))
            for block, figures in self.pairs.items()
            for one in mine
            if one in figures
        ]
        return Group(name, (BASE, *mine), seen, frozenset(failed), tuple(pairs))

    def _figure(self, run: PlannedRun) -> float:
        chance = random.Random(f"{self.seed}/{run}").gauss(0, self.noise)
        return LEVEL * math.exp(self.gains.get(run.candidate, 0.0) + chance)


def to_the_end(place: Place, strategy: Strategy, limit: int = 200) -> tuple[list[Proposal], Done]:
    """Ask and measure until the strategy is done; fails where it is not after `limit` answers."""
    proposals: list[Proposal] = []
    for _ in range(limit):
        answer = strategy.propose(place.history())
        if isinstance(answer, Done):
            place.dropped |= answer.dropped
            return proposals, answer
        proposals.append(answer)
        place.measure(answer)
    raise AssertionError(f"no end after {limit} proposals")


def copy_of(place: Place) -> Place:
    """As it is now; what is measured there afterwards is not known here."""
    return replace(
        place,
        groups=dict(place.groups),
        measured=list(place.measured),
        observations=list(place.observations),
        screened=list(place.screened),
        knobs=dict(place.knobs),
        dropped=dict(place.dropped),
        pairs={block: dict(figures) for block, figures in place.pairs.items()},
    )
