"""A made-up study that measures what a strategy proposes: histories without a server or a row."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchmarks.outcomes import Outcome
from tuning.statistics.analysis import analyse
from tuning.statistics.confirmation import ConfirmationState, confirm_each
from tuning.statistics.data import Metric, Observation
from tuning.statistics.gate import PairFigures
from tuning.strategy.protocol import (
    Budget,
    Done,
    FreshPair,
    GateSeen,
    Group,
    History,
    NewCandidate,
    PlannedRun,
    Proposal,
    Purpose,
    Strategy,
)
from tuning.strategy.racing import FAULTS
from tuning.strategy.whole import Variant, Whole

BASE = "base"
LEVEL = 6000.0


@dataclass
class SimulatedStudy:
    """Measures what is proposed, and keeps what a study's rows would.

    gains: log ratios to the baseline by candidate. groups: durability class to candidates.
    endings: outcomes other than "ok" by (candidate, block).
    refused, duplicates: what the gate says of candidates, as `History` has it; new ones join the
    first group as soon as they are proposed.
    line_gains: what each line of a winner contributes, as a log; a variant lacks that.
    ablation_runs: how many runs an ablation may have. kept: as `Whole` has it.
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
    line_gains: Mapping[str, float] = field(default_factory=dict)
    ablation_runs: int | None = None
    kept: Mapping[str, str] = field(default_factory=dict)
    variants: dict[str, NewCandidate] = field(default_factory=dict)
    ablation: list[Observation] = field(default_factory=list)
    rounds: list[Observation] = field(default_factory=list)
    gate: dict[int, dict[str, float | None]] = field(default_factory=dict)

    def history(self) -> History:
        groups = tuple(self._group(name) for name in self.groups)
        in_blocks = [run for run in self.measured if run.purpose is Purpose.BLOCK]
        begun = len({run.block for run in in_blocks})
        spending = (Purpose.BLOCK, Purpose.SEARCH, Purpose.GATE)
        spent = [run for run in self.measured if run.purpose in spending]
        of_variants = [
            r for r in self.measured if r.purpose in (Purpose.ABLATION, Purpose.REDUCED)
        ]
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
            ablation_budget=Budget(
                runs_left=None
                if self.ablation_runs is None
                else max(self.ablation_runs - len(of_variants), 0)
            ),
            finalists=tuple(name for name in dict.fromkeys(names) if name in raced),
            gate=self._gate(),
        )

    def _gate(self) -> GateSeen:
        whole = [there for there in self.gate.values() if all(there.values())]
        others = [next(name for name in there if name != BASE) for there in whole]
        pairs = tuple(
            PairFigures({Metric.THROUGHPUT: there[other]}, {Metric.THROUGHPUT: there[BASE]})
            for there, other in zip(whole, others, strict=True)
        )
        faults = [
            run.candidate
            for run in self.measured
            if run.purpose is Purpose.GATE
            and self.endings.get((run.candidate, run.block)) in FAULTS
        ]
        return GateSeen(pairs, len(self.gate), "a run failed" if faults else "")

    def measure(self, proposal: Proposal) -> None:
        """All of its runs, each to its own ending; what is new joins the first group."""
        first = next(iter(self.groups))
        self.groups[first] += tuple(one.name for one in proposal.new if not one.of)
        self.variants |= {one.name: one for one in proposal.new if one.of}
        self.knobs |= {one.name: one.knobs for one in proposal.new}
        self.dropped |= proposal.dropped
        for run in self._queued(proposal):
            self.measured.append(run)
            outcome = self.endings.get((run.candidate, run.block), Outcome.OK.value)
            figure = self._figure(run) if outcome == Outcome.OK else None
            if run.purpose is Purpose.CONFIRMATION:
                self.pairs.setdefault(run.block, {})[run.candidate] = figure
                continue
            if run.purpose is Purpose.GATE:
                self.gate.setdefault(run.block, {})[run.candidate] = figure
                continue
            seen = {
                Purpose.SEARCH: self.screened,
                Purpose.ABLATION: self.ablation,
                Purpose.REDUCED: self.rounds,
            }.get(run.purpose, self.observations)
            seen.append(
                Observation(
                    run.candidate,
                    run.block,
                    outcome,
                    replicate=run.replicate,
                    throughput=figure,
                    throughput_at_most=LEVEL / 2 if outcome == "cut_short" else None,
                )
            )

    def _all(self) -> list[str]:
        given = (name for names in self.groups.values() for name in names)
        return [BASE, *given, *self.variants]

    def _knobs(self) -> dict[str, Mapping[str, str]]:
        return {name: self.knobs.get(name, {}) for name in self._all()}

    def _queued(self, proposal: Proposal) -> list[PlannedRun]:
        """Without those of candidates that are not measured; none for the baseline alone."""
        gone = {*self.refused, *self.duplicates}
        runs = [run for run in proposal.runs if run.candidate not in gone]
        is_short = len(runs) < len(proposal.runs) and runs[0].purpose is Purpose.REDUCED
        return [] if is_short or len({run.candidate for run in runs}) < 2 else runs

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
        group = Group(name, (BASE, *mine), seen, frozenset(failed), tuple(pairs))
        return replace(group, whole=self._whole(group))

    def _whole(self, group: Group) -> Whole | None:
        """The winner of the group's blocks, if its pairs are measured and confirm it."""
        if not group.pairs:  # to analyse its runs takes longer than most strategies
            return None
        fit = [name for name in group.candidates if name not in group.failed]
        runs = [run for run in group.observations if run.candidate in fit]
        analysis = analyse(runs, BASE, fit)
        pairs = {
            name: [(p.figure, p.baseline_figure) for p in found]
            for name, found in group.tried.items()
        }
        judged = confirm_each(pairs, BASE, run_noise=analysis.run_noise)
        states = {name: one.state for name, one in judged.items()}
        confirmed = (n for n in analysis.choices if states.get(n) is ConfirmationState.CONFIRMED)
        name = next(confirmed, None)
        if name is None:
            return None
        found = judged[name]
        blocks = {run.block for run in (*self.ablation, *self.rounds) if run.candidate == name}
        return Whole(
            name=name,
            lead=math.log(found.estimate.ratio if found.estimate else 1.0),
            run_noise=analysis.run_noise,
            knobs=self.knobs.get(name, {}),
            kept=self.kept,
            variants={
                one.name: Variant(
                    one.without,
                    "refused" if one.name in self.refused else "",
                    self.duplicates.get(one.name, ""),
                )
                for one in self.variants.values()
                if one.of == name
            },
            runs=tuple(run for run in self.ablation if run.block in blocks),
            rounds=tuple(run for run in self.rounds if run.block in blocks),
        )

    def _figure(self, run: PlannedRun) -> float:
        chance = random.Random(f"{self.seed}/{run}").gauss(0, self.noise)
        return LEVEL * math.exp(self._gain(run.candidate) + chance)

    def _gain(self, name: str) -> float:
        variant = self.variants.get(name)
        if variant is None:
            return self.gains.get(name, 0.0)
        return self._gain(variant.of) - sum(self.line_gains.get(n, 0.0) for n in variant.without)


def to_the_end(
    study: SimulatedStudy, strategy: Strategy, limit: int = 200
) -> tuple[list[Proposal], Done]:
    """Ask and measure until the strategy is done; fails where it is not after `limit` answers."""
    proposals: list[Proposal] = []
    for _ in range(limit):
        answer = strategy.propose(study.history())
        if isinstance(answer, Done):
            study.dropped |= answer.dropped
            return proposals, answer
        proposals.append(answer)
        study.measure(answer)
    raise AssertionError(f"no end after {limit} proposals")


def proposed(strategy: Strategy, history: History) -> Proposal:
    """Return the strategy's proposal; fails where it is done."""
    answer = strategy.propose(history)
    assert isinstance(answer, Proposal)
    return answer
