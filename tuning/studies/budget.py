"""The runs and the time that a study has spent, and those that it may still spend at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from benchmarks.models import Device, RunState, Workload
from tuning.configs.check import Stage
from tuning.models import VARIANT_PURPOSES, Candidate, SlotPurpose, Study
from tuning.requests.load import Sizes
from tuning.results.study_rows import SlotRow, StudyRows
from tuning.statistics.confirmation import most_pairs
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS
from tuning.strategy.confirmation import PAIRS_SHARE, pairs_seconds
from tuning.strategy.protocol import Budget, PairTime
from tuning.strategy.search.search import CONCLUDING_BLOCKS, Effort
from tuning.studies.crash_tests import CrashTestsLeft, crash_tests_left
from tuning.study_templates.loader import StudyTemplate

# Seconds of a run besides warm-up and measured time, until a run has shown it.
_OVERHEAD_S = 10.0
# Seconds that a trial start takes at least, with its turn of the worker: MySQL 9.7 on 2 cores.
TRIAL_S = 3.0
# The share of a budget that an ablation gets; it also gets what blocks and pairs leave.
ABLATION_SHARE = 0.25
# Blocks of a study with an end, whatever they take: a single one shows no noise.
MIN_BLOCKS = 2
# The purposes that spend the budget of blocks and screening.
_BLOCKS = (SlotPurpose.BLOCK, SlotPurpose.SEARCH, SlotPurpose.GATE)


@dataclass(frozen=True)
class Place:
    """One device with one workload, on which candidates are compared. `number` counts from 0."""

    number: int
    device: Device
    workload: Workload

    @property
    def key(self) -> tuple[int, int]:
        """Primary keys of the device and the workload."""
        return self.device.pk, self.workload.pk

    @property
    def expected_s(self) -> float:
        """Seconds of a run, before a similar one has been measured."""
        return expected_run_s(self.workload)


def expected_run_s(sizes: Workload | Sizes | StudyTemplate) -> float:
    """Return the seconds of a run, before a similar one has been measured."""
    return sizes.warmup_s + sizes.measure_s + _OVERHEAD_S


def places(study: Study) -> list[Place]:
    """Return every device with every workload, in the order of measurement."""
    return _places(StudyRows(study))


def _places(rows: StudyRows) -> list[Place]:
    pairs = [(one, load) for one in rows.devices.values() for load in rows.workloads.values()]
    return [Place(number, *pair) for number, pair in enumerate(pairs)]


def measurable(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates that passed the gate and have runs of their own, baseline first."""
    passed = (one for one in candidates if not one.refusal and one.merged_into_id is None)
    return sorted(passed, key=lambda candidate: not candidate.is_baseline)


class StudyBudget:
    """The budget of a study, of its rows at one moment."""

    def __init__(self, rows: StudyRows) -> None:
        self.rows, self.study, self.slots = rows, rows.study, rows.slots
        self.places = [PlaceBudget(self, place) for place in _places(rows)]

    def at(self, key: tuple[int, int]) -> PlaceBudget:
        """Return the budget of one place, by `Place.key`."""
        return next(one for one in self.places if one.place.key == key)

    @cached_property
    def runs(self) -> int:
        """Runs that the study still needs at most."""
        return sum(place.runs_ahead for place in self.places)

    @property
    def runs_to_confirm(self) -> int:
        """The part of `runs` that only winners without their pairs need."""
        return sum(place.pair_runs for place in self.places)

    @cached_property
    def seconds(self) -> float:
        """The time that these runs take, and the crash tests after them."""
        ahead = sum(place.runs_ahead * place.run_s + place.longer_s for place in self.places)
        return ahead + self.crash_tests.seconds

    @property
    def done_share(self) -> float:
        """The part of all its runs and crash tests that is done, 0..1 by their time."""
        done_s = self.crash_tests.done * self.crash_tests.each_s
        for place in self.places:
            done_s += place.run_s * sum(slot.is_finished for slot in place.slots)
        return done_s / max(done_s + self.seconds, 1.0)

    @cached_property
    def crash_tests(self) -> CrashTestsLeft:
        """The crash tests that may still follow after all runs."""
        confirmed = sum(
            any(slot.purpose == SlotPurpose.CONFIRMATION for slot in place.slots)
            for place in self.places
        )
        return crash_tests_left(
            self.study,
            [budget.place.workload for budget in self.places],
            winners=len(self.places) * self.classes,
            confirmed=confirmed * self.classes,
        )

    @cached_property
    def runs_per_block(self) -> list[int]:
        """Runs per block of the candidates still racing, by place; 0 if none."""
        left = {
            (one.device_id, one.workload_id, one.candidate_id) for one in self.rows.eliminations
        }
        counts = []
        for place in self.places:
            racing = {one.pk for one in self._compared}
            if self.study.search is not None:
                blocks = (slot for slot in place.slots if slot.purpose == SlotPurpose.BLOCK)
                racing = {slot.candidate_id for slot in blocks}
            counts.append(sum((*place.place.key, pk) not in left for pk in racing))
        return [count + 1 if count > 1 else 0 for count in counts]  # the baseline runs twice

    @cached_property
    def candidates(self) -> int:
        return len(self._compared)

    @cached_property
    def classes(self) -> int:
        """Durability classes of the candidates: each may have a winner of its own."""
        return len(self.class_sizes)

    @cached_property
    def class_sizes(self) -> Counter[str]:
        """The number of candidates that may race, by durability class; in a search finalists."""
        sizes = Counter(one.durability for one in self._compared if not one.is_baseline)
        sizes = sizes or Counter([self.study.durability])
        is_search = self.study.search is not None
        return Counter(dict.fromkeys(sizes, Effort().finalists)) if is_search else sizes

    @cached_property
    def _compared(self) -> list[Candidate]:
        """The candidates that can be measured and are no variant."""
        found = measurable(self.rows.candidates.values())
        return [one for one in found if one.taken_from_id is None]

    @cached_property
    def trials_s(self) -> float:
        """Seconds of the trial starts of a search, which has one place, between its runs."""
        if self.study.search is None:
            return 0.0
        return _trials_s(one for one in self.rows.candidates.values() if one.found_by_search)

    @cached_property
    def outside_s(self) -> float:
        """Seconds before the first run, and of the trial starts of an ablation."""
        starts = [slot.run.started_at for slot in self.slots if slot.run.started_at]
        before_s = 0.0
        if self.study.started_at is not None and starts:
            before_s = max((min(starts) - self.study.started_at).total_seconds(), 0.0)
        if not self.study.ablates:
            return before_s
        candidates = self.rows.candidates.values()
        return before_s + _trials_s(one for one in candidates if one.taken_from_id is not None)

    @cached_property
    def current(self) -> int:
        """The number of the place that is measured now."""
        return max((one.place.number for one in self.places if one.since), default=0)

    def added(self, slots: Sequence[SlotRow]) -> list[SlotRow]:
        """Return the slots since the study was concluded last."""
        return [slot for slot in slots if slot.order > self.study.extended_after]

    @cached_property
    def adds_blocks(self) -> bool:
        """Whether the study was extended last, also if it is concluded early since."""
        is_block = (slot.purpose == SlotPurpose.BLOCK for slot in self.added(self.slots))
        return self.study.extended_by > 0 or any(is_block)


class PlaceBudget:
    """The budget of one place."""

    def __init__(self, whole: StudyBudget, place: Place) -> None:
        self.whole, self.place, self.study = whole, place, whole.study
        self.slots = [slot for slot in whole.slots if slot.place == place.key]

    @cached_property
    def run_s(self) -> float:
        """Wall time of a run: the median of the successful ones, else an assumption."""
        ok = [slot for slot in self.slots if slot.state == RunState.OK]
        seen = [s.run.wall_s - self._longer_s(s) for s in ok if s.run.wall_s is not None]
        load = self.place.workload
        return max(median(seen), load.warmup_s + load.measure_s) if seen else self.place.expected_s

    @property
    def longer_s(self) -> float:
        """Seconds that the unfinished runs measure longer than the others."""
        return sum(self._longer_s(slot) for slot in self.slots if not slot.is_finished)

    @property
    def blocks(self) -> Budget:
        """The budget of blocks, screening and trial starts.

        Nothing is left after an extension: its blocks are owed.
        """
        in_blocks = self._in_blocks
        if self.study.extended_by:
            return Budget(runs_left=0, runs_spent=len(in_blocks))
        if self.study.budget_minutes is None:
            # A candidate that leaves the race leaves its runs to the others; the baseline runs
            # twice, but in the pairs of a gate.
            more = 1 if self.study.gate is None else 0
            runs = self.study.blocks * (self.whole.candidates + more)
            left = max(runs - len(in_blocks), 0)
            budget = Budget(runs_left=left, runs_spent=len(in_blocks))
            if not self.study.has_end or len({slot.block for slot in in_blocks}) < MIN_BLOCKS:
                return budget
            return replace(budget, seconds_left=self._left_for_blocks_s, run_s=self.run_s)
        share_s = self._share_s(self.study.budget_minutes)
        kept_s = self._pairs_s(share_s) + self._ablation_s(share_s)
        return Budget(
            seconds_left=share_s - kept_s - self._spent_s(in_blocks),
            run_s=self.run_s,
            runs_spent=len(in_blocks),
        )

    @property
    def ablation(self) -> Budget:
        """The budget for the place's ablations: what all else has left."""
        # Since its last conclusion: what was added may have made another config the winner.
        spent = sum(slot.purpose in VARIANT_PURPOSES for slot in self.whole.added(self.slots))
        left = max(self.whole.classes * MAX_ABLATION_RUNS - spent, 0)
        if self.study.minutes is None or self.study.ablation_without_end:
            return Budget(runs_left=left)
        spent_s = self._spent_s(self.slots) + sum(self._longer_s(slot) for slot in self.slots)
        spent_s += self.whole.outside_s / len(self.whole.places)
        left_s = self._share_s(self.study.minutes) - spent_s
        return Budget(runs_left=left, seconds_left=left_s, run_s=self.run_s)

    @property
    def pair_time(self) -> PairTime | None:
        """The time that fresh pairs may take; None in a study without an end.

        None also where the user wants the answer now.
        """
        minutes = self.study.budget_minutes or (self.study.minutes if self.study.has_end else None)
        if minutes is None or self.study.concluded_at is not None:
            return None
        share_s = self._share_s(minutes)
        left_s = share_s - self._ablation_s(share_s) - self._spent_s(self.slots)
        measure_s = self.place.workload.measure_s
        return PairTime(max(left_s, 0.0), measure_s, max(self.run_s - measure_s, 0.0))

    def may_measure_again(self, purpose: str) -> bool:
        """Whether the time of the study suffices for one more run in place of a disturbed one.

        Always where it has no end. Blocks leave the pairs their time, and are over once these have
        begun. Pairs may take twice their time, if need be beyond the end: with too few of them
        nothing is recommended.
        """
        is_variant = purpose in VARIANT_PURPOSES
        if not self.study.has_end or (is_variant and self.study.ablation_without_end):
            return True
        end_s = self._share_s(self.study.minutes or 0)
        if purpose == SlotPurpose.BLOCK:
            owed = max(MIN_BLOCKS - len(_blocks(self.slots)), 0) * self._runs_per_block
            is_over = bool(_blocks(self.slots, SlotPurpose.CONFIRMATION))
            return not is_over and self._left_for_blocks_s >= (owed + 1) * self.run_s
        if purpose == SlotPurpose.CONFIRMATION:
            end_s += self._pairs_s(end_s)
        return end_s - self._spent_s(self.slots) >= self.run_s

    @property
    def owed_blocks(self) -> int:
        """Blocks of the study's last extension that the place has not begun yet."""
        return max(self.study.extended_by - len(_blocks(self.whole.added(self.slots))), 0)

    @cached_property
    def runs_ahead(self) -> int:
        """Runs that the place still needs at most."""
        queued = sum(not slot.is_finished for slot in self.slots)
        if self.whole.crash_tests.is_under_way:  # crash tests come after all runs
            return queued
        is_past = self.place.number < self.whole.current
        more = self.pair_runs
        if self.study.extended_by:
            more += self.owed_blocks * self._runs_per_block
        elif not (is_past or _blocks(self.since, SlotPurpose.CONFIRMATION)):
            more += self._blocks_ahead
        is_reducing = bool(self.since) and self.since[-1].purpose == SlotPurpose.REDUCED
        if self.study.ablates and not is_past and not is_reducing:
            ablation = self.ablation  # it spends the minutes left, as those before it do
            both = replace(ablation, runs_left=more + (ablation.runs_left or 0))
            more = max(more, both.runs or 0)
        return queued + more

    @cached_property
    def since(self) -> list[SlotRow]:
        """Its slots since the study was extended last: what follows may be another winner's."""
        return self.whole.added(self.slots) if self.whole.adds_blocks else self.slots

    @cached_property
    def pair_runs(self) -> int:
        """Runs of pairs that may still follow; each durability class has its own.

        An extension may choose another config than the one that has its pairs. A runner-up seldom
        gets pairs: they count once they are queued.
        """
        here = self.since
        if not self.owed_blocks and not _blocks(here):
            here = self.slots  # without new blocks there is no other winner
        is_over = any(slot.purpose in VARIANT_PURPOSES for slot in here)
        is_over = is_over or self.place.number < self.whole.current
        if not self.study.confirms or is_over or self.whole.crash_tests.is_under_way:
            return 0
        pairs = [slot for slot in here if slot.purpose == SlotPurpose.CONFIRMATION]
        begun = {slot.durability for slot in pairs if not slot.is_baseline}
        left = {name: n for name, n in self.whole.class_sizes.items() if name not in begun}
        return sum(2 * most_pairs(self.study.blocks, count) for count in left.values())

    @property
    def _blocks_ahead(self) -> int:
        """Runs of blocks and screening that may still follow at most."""
        runs = max(self.blocks.runs or 0, 0)
        if self.study.concluded_at is None:
            return runs
        if self.study.search is None:
            return 0
        each = self._runs_per_block or Effort().finalists + 2
        return min(runs, max(CONCLUDING_BLOCKS - len(_blocks(self.slots)), 0) * each)

    @property
    def _in_blocks(self) -> list[SlotRow]:
        return [slot for slot in self.slots if slot.purpose in _BLOCKS]

    @property
    def _runs_per_block(self) -> int:
        return self.whole.runs_per_block[self.place.number]

    @property
    def _left_for_blocks_s(self) -> float:
        end_s = self._share_s(self.study.minutes or 0)
        return end_s - self._pairs_s(end_s) - self._spent_s(self._in_blocks)

    def _share_s(self, minutes: int) -> float:
        return minutes * 60 / len(self.whole.places)

    def _pairs_s(self, share_s: float) -> float:
        """Seconds kept for the pairs: more where runs end with growing write debt."""
        if not self.study.confirms:
            return 0.0
        kept_s = pairs_seconds(share_s, self.run_s)
        owes = any(slot.run.debt_grew for slot in self.slots)
        return max(kept_s, PAIRS_SHARE * share_s) if owes else kept_s

    def _ablation_s(self, share_s: float) -> float:
        if not self.study.ablates or self.study.concluded_at is not None:
            return 0.0
        return ABLATION_SHARE * share_s

    def _spent_s(self, slots: Sequence[SlotRow]) -> float:
        """Seconds of these runs, past or future, of the runs that they replace, and of trials.

        Only a run that was cut short takes less than others.
        """
        spent_s = self.whole.trials_s
        for slot in slots:
            wall_s = slot.run.wall_s if slot.state == RunState.CUT_SHORT else None
            spent_s += self.run_s if wall_s is None else wall_s
            spent_s += len(slot.earlier) * self.run_s
        return spent_s

    def _longer_s(self, slot: SlotRow) -> float:
        return float(slot.run.measure_s - self.place.workload.measure_s)


def _blocks(slots: Sequence[SlotRow], purpose: SlotPurpose = SlotPurpose.BLOCK) -> set[int]:
    return {slot.block for slot in slots if slot.purpose == purpose}


def _trials_s(made: Iterable[Candidate]) -> float:
    checks = (check for one in made for check in one.checks if check["stage"] == Stage.SERVER)
    return sum(max(check["seconds"] or 0.0, TRIAL_S) for check in checks)
