"""A study's slots as judged boards: one per device, workload and durability class.

Results that are not comparable are never mixed: a config that may lose commits is not "faster"
than one that may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from benchmarks.models import CrashTest, Device, RunState, Workload
from tuning.models import (
    VARIANT_PURPOSES,
    Candidate,
    CrashSlot,
    DurabilityClass,
    Elimination,
    SlotPurpose,
)
from tuning.results.confirmations import FreshPairs, Pair, pairs_of
from tuning.results.run_lines import RunRow, SlotRow
from tuning.results.sentences import all_failed_text, not_recovered
from tuning.statistics.aim import Aim, figure_text, limit_text
from tuning.statistics.confirmation import Confirmation, ConfirmationState, confirm_each
from tuning.statistics.pareto import pareto_front
from tuning.statistics.ranking import Judgement, Metric, Observation, Ranked, judge_by
from tuning.statistics.verdict import VerdictKind, conclude_by_pairs
from tuning.strategy.changes import count_changes
from tuning.strategy.racing import FAULTS

NO_LIMITS = Aim()
_NO_BOARDS = {*VARIANT_PURPOSES, SlotPurpose.GATE}


@dataclass(frozen=True)
class Row:
    """A candidate's line on a board. Units as in `Ranked`; None is "no figure"."""

    candidate: Candidate
    ranked: Ranked
    left: Elimination | None = None


@dataclass(frozen=True)
class Board:
    """The ranking of one durability class on one device with one workload.

    The baseline is on every board, whatever its own class, because all are compared with it.
    `slots` are those of the blocks, `pair_slots` those of fresh pairs. `excluded` are OK and
    cut runs of another fingerprint, server, driver or dataset: shown, never ranked here.
    `screening` are the slots of a search, `ablation_slots` those of an ablation: only
    their failures count here. `crash_tests` are those that have ended, by name of the candidate.
    `confirms`: whether fresh pairs decide what is recommended.
    """

    device: Device
    workload: Workload
    durability: DurabilityClass
    candidates: dict[str, Candidate]
    baseline: Candidate
    observations: list[Observation]
    slots: list[SlotRow]
    pair_slots: list[SlotRow]
    eliminations: dict[str, Elimination]
    excluded: list[int]
    alpha: float
    screening: list[SlotRow] = field(default_factory=list)
    ablation_slots: list[SlotRow] = field(default_factory=list)
    aim: Aim = NO_LIMITS
    crash_tests: Mapping[str, CrashTest] = field(default_factory=dict)
    confirms: bool = False

    @property
    def excluded_runs(self) -> int:
        return len(self.excluded)

    @property
    def has_figures(self) -> bool:
        """Whether any run succeeded."""
        return any(run.counts for run in self.observations)

    @property
    def judgement(self) -> Judgement:
        """By tpmP, the metric that decides a study."""
        return self.judgement_by(Metric.TPMP)

    def judgement_by(self, metric: Metric) -> Judgement:
        """By one metric; each is worked out once, when it is first asked for."""
        if metric not in self._judgements:
            self._judgements.update(self._judged_by([metric]))
        return self._judgements[metric]

    @cached_property
    def _judgements(self) -> dict[Metric, Judgement]:
        return {}

    @property
    def judgements(self) -> dict[Metric, Judgement]:
        """The ranking by each metric."""
        if missing := [metric for metric in Metric if metric not in self._judgements]:
            self._judgements.update(self._judged_by(missing))
        return {metric: self._judgements[metric] for metric in Metric}

    @cached_property
    def rows(self) -> list[Row]:
        """The ranking by tpmP."""
        return self.rows_by(Metric.TPMP)

    @cached_property
    def for_advice(self) -> Judgement:
        """By the study's objective among the candidates that can be recommended.

        A candidate whose server or workload failed even once is never recommended, however fast
        its other runs were; nor is one that misses a limit. Where fresh pairs decide, the verdict
        is theirs.
        """
        found, drift = self._chosen, self._chosen.drift
        if not self.confirms or found.verdict.kind is VerdictKind.NOTHING_TO_COMPARE:
            return found
        tried = {
            name: one.sentence
            for name, one in self.confirmations.items()
            if name in found.analysis.choices
        }
        verdict = conclude_by_pairs(found.analysis, self.confirmed, tried, drift)
        return replace(found, verdict=verdict)

    @cached_property
    def _chosen(self) -> Judgement:
        """By the blocks alone, as the choice of what gets fresh pairs."""
        return self._among_the_fit(self.aim.objective)

    @cached_property
    def confirmations(self) -> dict[str, Confirmation]:
        """By candidate the result of its fresh pairs, in the order in which they were tried.

        Candidates whose pairs are still being measured have none.
        """
        return self._judge_pairs(self.aim.objective, self._chosen.analysis.run_noise)

    @property
    def confirmed(self) -> str | None:
        """The best-looking candidate that its fresh pairs confirm."""
        there = {
            name
            for name, one in self.confirmations.items()
            if one.state is ConfirmationState.CONFIRMED
        }
        return next((name for name in self._chosen.analysis.choices if name in there), None)

    def _judge_pairs(self, metric: Metric, run_noise: float | None) -> dict[str, Confirmation]:
        slots = sorted(self.pair_slots, key=lambda slot: slot.order)
        names = dict.fromkeys(s.candidate.name for s in slots if not s.candidate.is_baseline)
        tried = {name: self.pairs_of(self.candidates[name], metric) for name in names}
        figures = {
            name: [(pair.winner, pair.baseline) for pair in pairs] for name, pairs in tried.items()
        }
        found = confirm_each(figures, self.baseline.name, run_noise=run_noise, metric=metric)
        return {
            name: one
            for name, one in found.items()
            if all(pair.is_finished for pair in tried[name])
        }

    @cached_property
    def throughput(self) -> Judgement:
        """By tpmP among those that can be recommended, whatever the objective."""
        return self._among_the_fit(Metric.TPMP)

    @property
    def leader(self) -> str | None:
        """The config whose lead decides: the confirmed one, else the first that got pairs.

        Without pairs the winner of the blocks.
        """
        if not self.confirms:
            return self._chosen.analysis.winner
        choices = self._chosen.analysis.choices
        tried = (name for name in self.confirmations if name in choices)
        return self.confirmed or next(tried, None)

    def _among_the_fit(self, metric: Metric) -> Judgement:
        unfit = {*self.failed, *self.over_limits}
        return self._judged_by([metric], unfit)[metric] if unfit else self.judgement_by(metric)

    @cached_property
    def missed(self) -> dict[str, dict[Metric, float | None]]:
        """By candidate the limits that its runs in blocks and pairs miss, as in `Aim.missed`."""
        if not self.aim.keep:
            return {}
        runs: dict[str, list[Observation]] = {}
        pairs = [observation_of(slot) for slot in self.pair_slots if slot.run.is_finished]
        for run in (*self.observations, *pairs):
            runs.setdefault(run.candidate, []).append(run)
        found = {name: self.aim.missed(seen) for name, seen in runs.items()}
        return {name: missed for name, missed in found.items() if missed}

    @property
    def over_limits(self) -> list[str]:
        """The candidates, without the baseline, that miss a limit or did not recover."""
        names = dict.fromkeys([*self.missed, *self.not_recovered])
        return [name for name in names if name != self.baseline.name]

    @cached_property
    def not_recovered(self) -> dict[str, str]:
        """By candidate why its crash recovery rules it out, in words."""
        return not_recovered(self.crash_tests, self.aim.max_recovery_s)

    @property
    def key(self) -> tuple[Device, Workload, str]:
        """What identifies a board of a study."""
        return self.device, self.workload, str(self.durability)

    @cached_property
    def failed(self) -> list[str]:
        """The candidates, without the baseline, with a run that their config may have broken."""
        return [name for name in self.candidates if name in self._faults]

    @cached_property
    def _faults(self) -> dict[str, RunRow]:
        """By candidate, without the baseline, the last run that its config may have broken."""
        return {
            slot.candidate.name: slot.run
            for slot in (*self.slots, *self.pair_slots, *self.screening, *self.ablation_slots)
            if slot.run.state in FAULTS and not slot.candidate.is_baseline
        }

    @cached_property
    def all_failed(self) -> str:
        """Why all but the baseline failed, in words; "" if one did not."""
        others = [one for one in self.candidates.values() if not one.is_baseline]
        return all_failed_text(self.baseline.name, others, self._faults)

    @cached_property
    def pareto(self) -> tuple[str, ...]:
        """The candidates that no other beats in all three rankings."""
        return pareto_front([judgement.analysis for judgement in self.judgements.values()])

    def rows_by(self, metric: Metric) -> list[Row]:
        """The ranking by a metric, with the candidates' rows."""
        return [
            Row(self.candidates[line.candidate], line, self.eliminations.get(line.candidate))
            for line in self.judgement_by(metric).ranked
        ]

    def _judged_by(
        self, metrics: Sequence[Metric], without: Iterable[str] = ()
    ) -> dict[Metric, Judgement]:
        """The rankings by some metrics, optionally without some candidates."""
        names = [name for name in self.candidates if name not in without]
        seen = [run for run in self.observations if run.candidate in names]
        found = judge_by(metrics, seen, self.baseline.name, names, self.alpha, self.changes)
        return {metric: self._explained(one) for metric, one in found.items()}

    def _explained(self, found: Judgement) -> Judgement:
        """With the reason if all failed that it could compare, or there is none."""
        if found.verdict.kind is not VerdictKind.NOTHING_TO_COMPARE:
            return found
        sentence = self.all_failed
        if len(self.candidates) == 1 and found.analysis.blocks:
            sentence = (
                f"Nothing to compare with {self.baseline.name}: there is no other candidate."
            )
            if found.drift is not None and found.drift.is_named:
                sentence += f" {found.drift.sentence(self.baseline.name)}"
        sentence = sentence or found.verdict.sentence
        return replace(found, verdict=replace(found.verdict, sentence=sentence))

    @cached_property
    def changes(self) -> dict[str, int]:
        """How many variables each candidate sets otherwise than the baseline."""
        knobs = {name: candidate.config.knobs for name, candidate in self.candidates.items()}
        return count_changes(knobs, self.baseline.name)

    @cached_property
    def fresh_pairs(self) -> list[FreshPairs]:
        """The fresh pairs of every candidate that was tried, in order."""
        slots = sorted(self.pair_slots, key=lambda slot: slot.order)
        names = dict.fromkeys(s.candidate.name for s in slots if not s.candidate.is_baseline)
        return [
            FreshPairs(
                self.candidates[name],
                self.pairs_of(self.candidates[name]),
                self.confirmations.get(name),
            )
            for name in names
        ]

    def pairs_of(self, tried: Candidate, metric: Metric = Metric.TPMP) -> list[Pair]:
        """The fresh pairs of that candidate and the baseline, in order."""
        return pairs_of(self.pair_slots, tried, self.baseline, metric)

    @cached_property
    def throughputs(self) -> dict[str, Confirmation]:
        """As `confirmations`, for tpmP whatever the objective."""
        return self._judge_pairs(Metric.TPMP, self.throughput.analysis.run_noise)


def boards_of(
    slots: Sequence[SlotRow],
    eliminations: Iterable[Elimination],
    alpha: float,
    refused: Sequence[Candidate] = (),
    aim: Aim = NO_LIMITS,
    crash_slots: Iterable[CrashSlot] = (),
    *,
    confirms: bool = False,
) -> list[Board]:
    """One board per device, workload and durability class; `alpha` as in `judge`.

    Candidates that the gate `refused` have no slot but a line on the boards of their class. Those
    that a search only screened are on none; before a race has begun there is only the baseline.
    Variants of a winner are on none either.
    """
    left = {(one.device_id, one.workload_id, one.candidate_id): one for one in eliminations}
    tested = [one for one in crash_slots if one.test.is_finished]
    found: dict[tuple[int, int], list[SlotRow]] = {}
    for slot in slots:
        found.setdefault(_ids_of(slot), []).append(slot)
    return [
        _board(
            [slot for slot in ranked if _belongs(slot.candidate, durability)],
            [one for one in refused if one.durability == durability and _is_given(one)],
            durability,
            left,
            alpha,
            aim,
            {one.candidate.name: one.test for one in tested if _ids_of(one) == at},
            [slot for slot in there if slot.purpose in VARIANT_PURPOSES],
            confirms=confirms,
        )
        for at, there in sorted(found.items())
        for ranked in [_for_boards(there)]
        for durability in _classes(ranked)
    ]


def _ids_of(row: SlotRow | CrashSlot) -> tuple[int, int]:
    return row.device_id, row.workload_id


def _is_given(candidate: Candidate) -> bool:
    """Whether it was in the study from its start."""
    return not candidate.found_by_search and candidate.taken_from_id is None


def _for_boards(slots: Sequence[SlotRow]) -> list[SlotRow]:
    """The slots that make boards.

    Those of candidates that a search took no further are none, and so are those of variants.
    """
    slots = [slot for slot in slots if slot.purpose not in _NO_BOARDS]
    raced = {s.candidate_id for s in slots if s.purpose != SlotPurpose.SEARCH}
    return [slot for slot in slots if slot.candidate_id in raced or slot.candidate.is_baseline]


def _classes(slots: Iterable[SlotRow]) -> list[DurabilityClass]:
    """The classes of the candidates, safest first; that of the baseline if there is no other."""
    candidates = {slot.candidate_id: slot.candidate for slot in slots}.values()
    found = {c.durability for c in candidates if not c.is_baseline}
    found = found or {c.durability for c in candidates}
    return [DurabilityClass(durability) for durability in sorted(found)]


def _belongs(candidate: Candidate, durability: DurabilityClass) -> bool:
    return candidate.is_baseline or candidate.durability == durability


def _owner(slot: SlotRow) -> Candidate:
    """The winner that a variant was made from, else the candidate itself."""
    return slot.candidate.taken_from or slot.candidate


def _board(
    slots: list[SlotRow],
    refused: list[Candidate],
    durability: DurabilityClass,
    left: Mapping[tuple[int, int, int], Elimination],
    alpha: float,
    aim: Aim,
    crash_tests: Mapping[str, CrashTest],
    ablation: Sequence[SlotRow] = (),
    *,
    confirms: bool = False,
) -> Board:
    all_here = (*(slot.candidate for slot in slots), *refused)
    in_order = sorted(all_here, key=lambda c: c.position)
    candidates = {candidate.name: candidate for candidate in in_order}
    device, workload = slots[0].device, slots[0].workload
    out = {c.name: left.get((device.pk, workload.pk, c.pk)) for c in candidates.values()}
    in_blocks = [slot for slot in slots if slot.purpose == SlotPurpose.BLOCK]
    key = _comparable_key([slot for slot in slots if slot.purpose != SlotPurpose.SEARCH])
    ended = [slot for slot in in_blocks if slot.run.is_done]
    ranked_slots = [slot for slot in ended if not _is_excluded(slot.run, key)]
    screening = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    return Board(
        device=device,
        workload=workload,
        durability=durability,
        candidates=candidates,
        baseline=next(c for c in candidates.values() if c.is_baseline),
        observations=[observation_of(slot) for slot in ranked_slots],
        slots=in_blocks,
        pair_slots=[slot for slot in slots if slot.purpose == SlotPurpose.CONFIRMATION],
        eliminations={name: one for name, one in out.items() if one is not None},
        excluded=[slot.run_id for slot in ended if _is_excluded(slot.run, key)],
        alpha=alpha,
        screening=screening,
        ablation_slots=[slot for slot in ablation if _belongs(_owner(slot), durability)],
        aim=aim,
        crash_tests=crash_tests,
        confirms=confirms,
    )


def screened_runs(slots: Iterable[SlotRow]) -> list[Observation]:
    """The ended runs of a search in one place, as far as they can be compared, in their order."""
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    key = _comparable_key(there)
    ended = [slot for slot in there if slot.run.is_finished]
    return [observation_of(slot) for slot in ended if not _is_excluded(slot.run, key)]


def _comparable_key(slots: Sequence[SlotRow]) -> str:
    """The comparability key by which most runs can be ranked; in a tie that of the newest run.

    A run can be ranked if the baseline of its block has the same key: a key that most runs share
    is of no use if the baseline has another.
    """
    ok = [slot for slot in slots if slot.run.state == RunState.OK]
    baselines = {
        (slot.block, slot.run.comparability_key) for slot in ok if slot.candidate.is_baseline
    }
    keys = [slot.run.comparability_key for slot in sorted(ok, key=lambda slot: slot.order)]
    rankable = Counter(
        slot.run.comparability_key
        for slot in ok
        if (slot.block, slot.run.comparability_key) in baselines
    )
    last = {key: index for index, key in enumerate(keys)}
    return max(last, key=lambda key: (rankable[key], keys.count(key), last[key]), default="")


def _is_excluded(run: RunRow, key: str) -> bool:
    has_figures = run.state in (RunState.OK, RunState.CUT_SHORT)
    return has_figures and run.comparability_key != key


def observation_of(slot: SlotRow) -> Observation:
    """A slot's newest run as the statistics take it."""
    run = slot.run
    return Observation(
        candidate=slot.candidate.name,
        block=slot.block,
        outcome=run.state,
        tpmP=run.tpmP,
        tpmP_at_most=run.tpmP_at_most,
        p95_ms=run.p95_ms,
        p99_ms=run.p99_ms,
        max_ms=run.max_ms,
        server_path_length=run.server_path_length,
        host_path_length=run.host_path_length,
        replicate=slot.replicate,
        started_at=run.started_at.timestamp() if run.started_at else None,
    )


def missed_text(board: Board, name: str) -> str:
    """Return the limits that a candidate misses, as `p95 <= 50 ms: 61.2 ms`; "" for none."""
    missed = [
        f"{limit_text(metric, board.aim.keep[metric])}: {figure_text(metric, value)}"
        for metric, value in board.missed.get(name, {}).items()
    ]
    return ", ".join([*missed, *filter(None, [board.not_recovered.get(name)])])
