"""The boards of a study: one per device, workload and durability class, with its judgements.

Results that are not comparable are never mixed: a config that may lose commits is not "faster"
than one that may not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from benchmarks.models import CrashTest, Device, RunState, Workload
from tuning.models import VARIANT_PURPOSES, Candidate, DurabilityClass, Elimination, SlotPurpose
from tuning.results.document import Pair, RunFacts
from tuning.results.sentences import all_failed_text, failure_text, not_recovered
from tuning.results.study_rows import SlotRow, StudyRows
from tuning.statistics.aim import Aim, figure_text, limit_text
from tuning.statistics.confirmation import Confirmation, ConfirmationState, confirm_each
from tuning.statistics.data import Metric, Observation
from tuning.statistics.ranking import Judgement, judge
from tuning.statistics.verdict import VerdictKind, conclude_by_pairs
from tuning.strategy.protocol import count_changes
from tuning.strategy.racing import FAULTS, conclusion_alpha


@dataclass(frozen=True)
class Board:
    """The ranking of one durability class on one device with one workload.

    The baseline is on every board, whatever its own class, because all are compared with it.
    slots: of the blocks. pair_slots: of fresh pairs. screening, ablation_slots: of a search and of
    an ablation; only their failures count here. excluded: OK and cut runs of another fingerprint,
    server, driver or dataset, which are shown and never ranked. eliminations, crash_tests (ended
    ones): by name of the candidate. confirms: whether fresh pairs decide what is recommended.
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
    screening: list[SlotRow]
    ablation_slots: list[SlotRow]
    aim: Aim
    crash_tests: Mapping[str, CrashTest]
    confirms: bool

    @property
    def judgement(self) -> Judgement:
        """The ranking by throughput."""
        return self.judgements[Metric.THROUGHPUT]

    @cached_property
    def judgements(self) -> dict[Metric, Judgement]:
        """The ranking by each metric."""
        return {metric: self._judged_by(metric) for metric in Metric}

    @cached_property
    def for_advice(self) -> Judgement:
        """The ranking by the objective, of the candidates that can be recommended.

        A candidate whose server or workload failed even once is never recommended, however fast
        its other runs were; nor is one that misses a limit. Where fresh pairs decide, the verdict
        is theirs.
        """
        found = self._chosen
        if not self.confirms or found.verdict.kind is VerdictKind.NOTHING_TO_COMPARE:
            return found
        choices = found.analysis.choices
        tried = {n: one.sentence for n, one in self.confirmations.items() if n in choices}
        verdict = conclude_by_pairs(found.analysis, self.confirmed, tried, found.drift)
        return replace(found, verdict=verdict)

    @cached_property
    def _chosen(self) -> Judgement:
        """The ranking by blocks alone, which chooses the candidates for fresh pairs."""
        return self._judged_by(self.aim.objective, self._unfit)

    @property
    def _unfit(self) -> set[str]:
        return {*self.failed, *self.over_limits}

    @cached_property
    def confirmations(self) -> dict[str, Confirmation]:
        """The results of fresh pairs by candidate, in the order in which they were tried.

        Candidates whose pairs are still being measured have none.
        """
        return self._judge_pairs(self.aim.objective, self._chosen)

    @cached_property
    def throughputs(self) -> dict[str, Confirmation]:
        """The results of fresh pairs for throughput, whatever the objective."""
        if self.aim.objective is Metric.THROUGHPUT:
            return self.confirmations
        by_blocks = self._judged_by(Metric.THROUGHPUT, self._unfit)
        return self._judge_pairs(Metric.THROUGHPUT, by_blocks)

    @property
    def confirmed(self) -> str | None:
        """The best-looking candidate that its fresh pairs confirm."""
        there = self.confirmations
        return next(
            (
                name
                for name in self._chosen.analysis.choices
                if name in there and there[name].state is ConfirmationState.CONFIRMED
            ),
            None,
        )

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

    @cached_property
    def missed(self) -> dict[str, dict[Metric, float | None]]:
        """The limits that runs in blocks and pairs miss, by candidate, as in `Aim.missed`."""
        runs: dict[str, list[Observation]] = {}
        pairs = [slot.observation for slot in self.pair_slots if slot.is_finished]
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
        """The reasons why crash recovery rules candidates out, by candidate."""
        return not_recovered(self.crash_tests, self.aim.max_recovery_s)

    def missed_text(self, name: str) -> str:
        """Return the limits that a candidate misses, as `p95 <= 50 ms: 61.2 ms`; "" for none."""
        missed = [
            f"{limit_text(metric, self.aim.keep[metric])}: {figure_text(metric, value)}"
            for metric, value in self.missed.get(name, {}).items()
        ]
        return ", ".join([*missed, *filter(None, [self.not_recovered.get(name)])])

    @property
    def failed(self) -> list[str]:
        """The candidates, without the baseline, with a run that their config may have broken."""
        return [name for name in self.candidates if name in self._faults]

    @cached_property
    def _faults(self) -> dict[str, str]:
        """How the last run failed that a config may have broken, by candidate."""
        return {
            slot.name: failure_text(slot.run)
            for slot in (*self.slots, *self.pair_slots, *self.screening, *self.ablation_slots)
            if slot.run.state in FAULTS and not slot.is_baseline
        }

    @cached_property
    def tried(self) -> list[Candidate]:
        """The candidates that got fresh pairs, in the order in which they were tried."""
        return list(dict.fromkeys(s.candidate for s in self.pair_slots if not s.is_baseline))

    def pairs_of(self, tried: Candidate, metric: Metric = Metric.THROUGHPUT) -> list[Pair]:
        """Return the fresh pairs of that candidate and the baseline, in order."""
        at = {(slot.block, slot.candidate_id): slot.run for slot in self.pair_slots}
        return [
            _pair(block, ours, theirs, metric)
            for (block, candidate_id), ours in sorted(at.items(), key=lambda item: item[0])
            if candidate_id == tried.pk
            and (theirs := at.get((block, self.baseline.pk))) is not None
        ]

    def _judge_pairs(self, metric: Metric, by_blocks: Judgement) -> dict[str, Confirmation]:
        pairs = {one.name: self.pairs_of(one, metric) for one in self.tried}
        figures = {
            name: [(pair.winner, pair.baseline) for pair in found] for name, found in pairs.items()
        }
        noise = by_blocks.analysis.run_noise
        judged = confirm_each(figures, self.baseline.name, run_noise=noise, metric=metric)
        ended = (n for n, found in pairs.items() if all(pair.is_finished for pair in found))
        return {name: judged[name] for name in ended}

    def _judged_by(self, metric: Metric, without: Collection[str] = ()) -> Judgement:
        """Return the ranking; its verdict names the reason if there is nothing to compare."""
        names = [name for name in self.candidates if name not in without]
        seen = [run for run in self.observations if run.candidate in names]
        baseline, knobs = (
            self.baseline.name,
            {n: c.config.knobs for n, c in self.candidates.items()},
        )
        changes = count_changes(knobs, baseline)
        found = judge(seen, baseline, names, metric, self.alpha, changes)
        if found.verdict.kind is not VerdictKind.NOTHING_TO_COMPARE:
            return found
        others = [one for one in self.candidates.values() if not one.is_baseline]
        sentence = all_failed_text(baseline, others, self._faults)
        if not others and found.analysis.blocks:
            sentence = f"Nothing to compare with {baseline}: there is no other candidate."
            if found.drift is not None and found.drift.is_named:
                sentence += f" {found.drift.sentence(baseline)}"
        verdict = replace(found.verdict, sentence=sentence or found.verdict.sentence)
        return replace(found, verdict=verdict)


def _pair(block: int, ours: RunFacts, theirs: RunFacts, metric: Metric) -> Pair:
    same = ours.comparability_key == theirs.comparability_key
    return Pair(
        block=block,
        winner=ours.figures.of(metric) if same else None,
        baseline=theirs.figures.of(metric) if same else None,
        is_finished=ours.is_finished and theirs.is_finished,
    )


def boards_of(rows: StudyRows) -> list[Board]:
    """Return a board per device, workload and durability class with a slot.

    Candidates that the config check refused have no slot but a line on the boards of their class.
    Configs that a search only screened are on no board; before a race has begun there is only the
    baseline. Variants of a winner are on no board either.
    """
    places: dict[tuple[int, int], list[SlotRow]] = {}
    for slot in rows.slots:
        places.setdefault(slot.place, []).append(slot)
    found = []
    for _, there in sorted(places.items()):
        ranked = [s for s in there if s.purpose not in (*VARIANT_PURPOSES, SlotPurpose.GATE)]
        raced = {s.candidate_id for s in ranked if s.purpose != SlotPurpose.SEARCH}
        ranked = [s for s in ranked if s.candidate_id in raced or s.is_baseline]
        # The baseline's own class counts only if there is no other candidate.
        classes = {s.durability for s in ranked if not s.is_baseline}
        classes = classes or {s.durability for s in ranked}
        found += [_board(rows, there, ranked, DurabilityClass(one)) for one in sorted(classes)]
    return found


def _board(
    rows: StudyRows,
    there: Sequence[SlotRow],
    ranked: Sequence[SlotRow],
    durability: DurabilityClass,
) -> Board:
    """Make the board of a class: of its slots `there` only the `ranked` make boards."""

    def belongs(one: Candidate) -> bool:
        return one.is_baseline or one.durability == durability

    def of(*purposes: str) -> list[SlotRow]:
        return [slot for slot in slots if slot.purpose in purposes]

    slots = [slot for slot in ranked if belongs(slot.candidate)]
    first, blocks, pairs = slots[0], of(SlotPurpose.BLOCK), of(SlotPurpose.CONFIRMATION)
    refused = [
        one
        for one in rows.candidates.values()
        if one.refusal and one.durability == durability
        if not one.found_by_search and one.taken_from_id is None
    ]
    in_order = sorted((*(slot.candidate for slot in slots), *refused), key=lambda c: c.position)
    candidates = {candidate.name: candidate for candidate in in_order}
    key = _comparable_key([*blocks, *pairs])
    ended = [slot for slot in blocks if slot.run.is_done]
    variants = [slot for slot in there if slot.purpose in VARIANT_PURPOSES]
    left = {rows.candidates[one.candidate_id].name: one for one in _here(first, rows.eliminations)}
    return Board(
        device=first.device,
        workload=first.workload,
        durability=durability,
        candidates=candidates,
        baseline=next(c for c in candidates.values() if c.is_baseline),
        observations=[slot.observation for slot in ended if not _is_excluded(slot.run, key)],
        slots=blocks,
        pair_slots=pairs,
        eliminations={name: one for name, one in left.items() if name in candidates},
        excluded=[slot.run.id for slot in ended if _is_excluded(slot.run, key)],
        alpha=conclusion_alpha(rows.study.conclusions),
        screening=of(SlotPurpose.SEARCH),
        ablation_slots=[s for s in variants if belongs(s.candidate.taken_from or s.candidate)],
        aim=rows.aim,
        crash_tests={
            one.candidate.name: one.test
            for one in _here(first, rows.crash_slots)
            if one.test.is_finished
        },
        confirms=rows.study.confirms,
    )


def _here(place: SlotRow, rows: Iterable[Any]) -> list[Any]:
    return [one for one in rows if (one.device_id, one.workload_id) == place.place]


def screened_runs(slots: Iterable[SlotRow]) -> list[Observation]:
    """Return the ended runs of a search in one place that can be compared, in their order."""
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    key = _comparable_key(there)
    ended = [slot for slot in there if slot.run.is_finished]
    return [slot.observation for slot in ended if not _is_excluded(slot.run, key)]


def _comparable_key(slots: Sequence[SlotRow]) -> str:
    """Return the comparability key by which most runs can be ranked; in a tie the newest run's.

    A run can be ranked if the baseline of its block has the same key: a key that most runs share
    is of no use if the baseline has another.
    """
    ok = sorted((s for s in slots if s.run.state == RunState.OK), key=lambda slot: slot.order)
    keys = [slot.run.comparability_key for slot in ok]
    baselines = {(s.block, s.run.comparability_key) for s in ok if s.is_baseline}
    rankable = Counter(key for s, key in zip(ok, keys, strict=True) if (s.block, key) in baselines)
    last = {key: index for index, key in enumerate(keys)}
    return max(last, key=lambda key: (rankable[key], keys.count(key), last[key]), default="")


def _is_excluded(run: RunFacts, key: str) -> bool:
    has_figures = run.state in (RunState.OK, RunState.CUT_SHORT)
    return has_figures and run.comparability_key != key
