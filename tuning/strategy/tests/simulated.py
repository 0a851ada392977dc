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
    measured: list[PlannedRun] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    pairs: dict[int, dict[str, float | None]] = field(default_factory=dict)

    def history(self) -> History:
        groups = tuple(self._group(name) for name in self.groups)
        in_blocks = [run for run in self.measured if run.purpose is Purpose.BLOCK]
        begun = len({run.block for run in in_blocks})
        names = [name for group in groups for name in group.candidates]
        runs = self.planned_blocks * (len(set(names)) + 1) if self.runs is None else self.runs
        return History(
            seed=self.seed,
            baseline=BASE,
            candidates=tuple(dict.fromkeys(names)),
            groups=groups,
            planned_blocks=self.planned_blocks,
            budget=Budget(runs_left=max(runs - len(in_blocks), 0), runs_spent=len(in_blocks)),
            dropped=dict(self.dropped),
            blocks=begun,
            last_block=max((run.block for run in self.measured), default=0),
            owed_blocks=max(self.owed_blocks - begun, 0),
        )

    def measure(self, proposal: Proposal) -> None:
        """All of its runs, each to its own ending; what is new joins the first group."""
        first = next(iter(self.groups))
        self.groups[first] += tuple(one.name for one in proposal.new)
        self.dropped |= proposal.dropped
        for run in proposal.runs:
            self.measured.append(run)
            outcome = self.endings.get((run.candidate, run.block), Outcome.OK.value)
            figure = self._figure(run) if outcome == Outcome.OK else None
            if run.purpose is Purpose.CONFIRMATION:
                self.pairs.setdefault(run.block, {})[run.candidate] = figure
                continue
            self.observations.append(
                Observation(
                    run.candidate,
                    run.block,
                    outcome,
                    replicate=run.replicate,
                    tpmP=figure,
                    tpmP_at_most=LEVEL / 2 if outcome == "cut_short" else None,
                )
            )

    def _group(self, name: str) -> Group:
        mine = tuple(one for one in self.groups[name] if one not in self.refused)
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
        dropped=dict(place.dropped),
        pairs={block: dict(figures) for block, figures in place.pairs.items()},
    )
