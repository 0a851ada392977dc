"""How many runs a study still needs at most, and how long each takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor
from statistics import median

from django.db.models import QuerySet

from benchmarks.models import Device, RunState, Workload
from tuning.configs.gate.stages import Stage
from tuning.models import VARIANT_PURPOSES, Candidate, SlotPurpose, Study
from tuning.results.run_lines import SlotRow
from tuning.statistics.confirmation import MIN_PAIRS, most_pairs
from tuning.strategy.apart.take_apart import MAX_APART_RUNS
from tuning.strategy.protocol import Budget, PairTime
from tuning.strategy.search.search import CONCLUDING_BLOCKS, Effort
from tuning.studies.crash_forecast import CrashForecast, crash_forecast

# What a run takes besides warm-up and measured time, in seconds, until a run has shown it.
ASSUMED_OVERHEAD_S = 10.0
# What a trial start takes at least, with its turn of the worker: MySQL 9.7 on 2 cores.
TRIAL_S = 3.0
# Of a budget, kept for longer pairs where the runs of the blocks end with growing write debt.
LONG_PAIRS_SHARE = 0.2
# What taking a winner apart gets of a budget; what blocks and pairs leave comes to that.
APART_SHARE = 0.25
# Blocks of a study with an end, whatever they take: one alone shows no noise.
MIN_BLOCKS = 2
# What blocks and screening spend.
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


def places(study: Study) -> list[Place]:
    """Every device with every workload, in the order of measurement."""
    devices = sorted(study.devices.all(), key=lambda one: one.pk)
    workloads = sorted(study.workloads.all(), key=lambda one: (one.connections, one.pk))
    pairs = [(device, workload) for device in devices for workload in workloads]
    return [Place(number, *pair) for number, pair in enumerate(pairs)]


def measurable(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that passed the gate and are measured themselves, the baseline first."""
    found = (one for one in candidates if not one.refusal and one.merged_into_id is None)
    return sorted(found, key=lambda candidate: not candidate.is_baseline)


class Forecast:
    """What a study has spent and may still spend; `slots` are all slots of the study.

    Makes the same few queries for any number of places, candidates and slots.
    """

    def __init__(self, study: Study, slots: Sequence[SlotRow]) -> None:
        self.study = study
        self.places = places(study)
        self._slots: dict[tuple[int, int], list[SlotRow]] = {}
        for slot in slots:
            self._slots.setdefault(slot.place, []).append(slot)
        self._known_s: dict[int, float] = {}

    def slots(self, place: Place) -> list[SlotRow]:
        """The slots of the place, in order."""
        return self._slots.get(place.key, [])

    @property
    def runs(self) -> int:
        """Runs that the study still needs at most."""
        return sum(self._ahead.values())

    @property
    def runs_to_confirm(self) -> int:
        """Those of them that only winners without their pairs need."""
        return sum(map(self._pair_runs, self.places))

    @cached_property
    def seconds(self) -> float:
        """The time that these runs take, and the crash tests after them."""
        ahead = sum(runs * self._run_s(self.places[at]) for at, runs in self._ahead.items())
        unfinished = [
            (slot, place)
            for place in self.places
            for slot in self.slots(place)
            if not slot.is_finished
        ]
        longer = sum(_longer_s(slot, place) for slot, place in unfinished)
        return ahead + longer + self.crash_tests.seconds

    @property
    def done_share(self) -> float:
        """The part of all its runs and crash tests that is done, 0..1 by their time."""
        done_s = sum(
            self._run_s(place) * sum(slot.is_finished for slot in self.slots(place))
            for place in self.places
        )
        done_s += self.crash_tests.done * self.crash_tests.each_s
        return done_s / max(done_s + self.seconds, 1.0)

    @cached_property
    def crash_tests(self) -> CrashForecast:
        """Those that may still follow: after all runs, none is measured beside them."""
        if not self.study.crash_tests:
            return CrashForecast()
        confirmed = sum(
            any(slot.purpose == SlotPurpose.CONFIRMATION for slot in self.slots(place))
            for place in self.places
        )
        return crash_forecast(
            self.study,
            [place.workload for place in self.places],
            winners=len(self.places) * self._classes,
            confirmed=confirmed * self._classes,
        )

    @cached_property
    def runs_per_block(self) -> dict[int, int]:
        """By number of the place: runs per block of the candidates still racing; 0 if none."""
        if self.study.search is not None:
            left = self._left_of_search()
        else:
            gone = Counter(self.study.eliminations.values_list("device_id", "workload_id"))
            left = {place.number: self._candidates - gone[place.key] for place in self.places}
        # The baseline runs twice.
        return {number: count + 1 if count > 1 else 0 for number, count in left.items()}

    def _left_of_search(self) -> dict[int, int]:
        """By number of the place: how many candidates that a search chose are still racing."""
        where = "device_id", "workload_id", "candidate_id"
        raced = self.study.slots.filter(purpose=SlotPurpose.BLOCK).values_list(*where).distinct()
        left = set(raced) - set(self.study.eliminations.values_list(*where))
        counted = Counter(key[:2] for key in left)
        return {place.number: counted[place.key] for place in self.places}

    def budget(self, place: Place) -> Budget:
        """What blocks, screening and trial starts of the place have spent and may still spend.

        After an extension that is nothing: its blocks are owed.
        """
        in_blocks = [slot for slot in self.slots(place) if slot.purpose in _BLOCKS]
        if self.study.extended_by:
            return Budget(runs_left=0, runs_spent=len(in_blocks))
        if self.study.budget_minutes is None:
            # A candidate that leaves the race leaves its runs to the others; the baseline runs
            # twice, but in the pairs of a gate.
            more = 1 if self.study.gate is None else 0
            runs = self.study.blocks * (self._candidates + more)
            left = max(runs - len(in_blocks), 0)
            found = Budget(runs_left=left, runs_spent=len(in_blocks))
            if not self.study.has_end or len({slot.block for slot in in_blocks}) < MIN_BLOCKS:
                return found
            seconds, run_s = self._left_for_blocks_s(place), self._run_s(place)
            return replace(found, seconds_left=seconds, run_s=run_s)
        run_s = self._run_s(place)
        spent_s = self._spent_s(in_blocks, run_s)
        share = self._share_s(self.study.budget_minutes)
        return Budget(
            seconds_left=share - self._pairs_s(place, share) - self._apart_s(share) - spent_s,
            run_s=run_s,
            runs_spent=len(in_blocks),
        )

    def may_measure_again(self, place: Place, purpose: str) -> bool:
        """Whether the time of the study suffices for one more run in place of a disturbed one.

        Always where it has no end. Blocks leave the pairs their time, and are over once these have
        begun. Pairs may take twice their time, if need be beyond the end: with too few of them
        nothing is recommended.
        """
        is_variant = purpose in VARIANT_PURPOSES
        if not self.study.has_end or (is_variant and self.study.apart_without_end):
            return True
        here, run_s = self.slots(place), self._run_s(place)
        end_s = self._share_s(self.study.minutes or 0)
        if purpose == SlotPurpose.BLOCK:
            begun = len({slot.block for slot in here if slot.purpose == SlotPurpose.BLOCK})
            runs = max(MIN_BLOCKS - begun, 0) * self.runs_per_block[place.number]
            is_over = any(slot.purpose == SlotPurpose.CONFIRMATION for slot in here)
            return not is_over and self._left_for_blocks_s(place) >= (runs + 1) * run_s
        if purpose == SlotPurpose.CONFIRMATION:
            end_s += self._pairs_s(place, end_s)
        return end_s - self._spent_s(here, run_s) >= run_s

    def _left_for_blocks_s(self, place: Place) -> float:
        """What blocks have left until the end, with the time of the pairs taken off."""
        end_s = self._share_s(self.study.minutes or 0)
        in_blocks = [slot for slot in self.slots(place) if slot.purpose in _BLOCKS]
        spent_s = self._spent_s(in_blocks, self._run_s(place))
        return end_s - self._pairs_s(place, end_s) - spent_s

    def pair_time(self, place: Place) -> PairTime | None:
        """What the pairs of a winner may take there; None without a budget in minutes.

        None also where the user wants the answer now.
        """
        if self.study.budget_minutes is None or self.study.concluded_at is not None:
            return None
        run_s = self._run_s(place)
        spent_s = self._spent_s(self.slots(place), run_s)
        share = self._share_s(self.study.budget_minutes)
        left = share - self._apart_s(share) - spent_s
        measure_s = place.workload.measure_s
        return PairTime(max(left, 0.0), measure_s, max(run_s - measure_s, 0.0))

    def _share_s(self, minutes: int) -> float:
        return minutes * 60 / len(self.places)

    def _spent_s(self, slots: Sequence[SlotRow], run_s: float) -> float:
        return self._trials_s + sum(_spent_s(slot, run_s) for slot in slots)

    def _pairs_s(self, place: Place, share: float) -> float:
        """What is kept for the pairs: more where runs end with growing write debt."""
        if not self.study.confirms:
            return 0.0
        shortest = 2 * MIN_PAIRS * self._run_s(place)
        owes = any(slot.run.debt_grew for slot in self.slots(place))
        return max(shortest, LONG_PAIRS_SHARE * share) if owes else shortest

    def apart_budget(self, place: Place) -> Budget:
        """What taking the place's winners apart may still spend: what all else has left."""
        here = self.slots(place)
        # Since its last conclusion: what was added may have made another config the winner.
        spent = sum(slot.purpose in VARIANT_PURPOSES for slot in self._added(here))
        left = max(self._classes * MAX_APART_RUNS - spent, 0)
        if self.study.minutes is None or self.study.apart_without_end:
            return Budget(runs_left=left)
        run_s, count = self._run_s(place), len(self.places)
        share = self._share_s(self.study.minutes)
        spent_s = self._spent_s(here, run_s) + sum(_longer_s(slot, place) for slot in here)
        before_s = (self._before_s + self._variants_s) / count
        return Budget(runs_left=left, seconds_left=share - spent_s - before_s, run_s=run_s)

    def _apart_s(self, share: float) -> float:
        """What is kept of a budget for taking the winner apart."""
        if not self.study.takes_apart or self.study.concluded_at is not None:
            return 0.0
        return APART_SHARE * share

    def owed_blocks(self, place: Place) -> int:
        """Blocks of the study's last extension that the place has not begun yet."""
        begun = {
            slot.block
            for slot in self._added(self.slots(place))
            if slot.purpose == SlotPurpose.BLOCK
        }
        return max(self.study.extended_by - len(begun), 0)

    @cached_property
    def _candidates(self) -> int:
        return len(self._compared)

    @cached_property
    def _classes(self) -> int:
        """Durability classes of the candidates: each may have a winner of its own."""
        rivals = {durability for durability, is_baseline in self._compared if not is_baseline}
        return max(len(rivals), 1)

    @cached_property
    def _compared(self) -> list[tuple[str, bool]]:
        """Of each candidate that can be measured, no variant: its class, and is it the baseline"""
        there = self.study.candidates.filter(refusal="", merged_into=None, taken_from=None)
        return list(there.values_list("durability", "is_baseline"))

    @cached_property
    def _before_s(self) -> float:
        """Seconds from the study's start to its first run: loading and trial starts."""
        starts = [
            s.run.started_at for there in self._slots.values() for s in there if s.run.started_at
        ]
        if self.study.started_at is None or not starts:
            return 0.0
        return max((min(starts) - self.study.started_at).total_seconds(), 0.0)

    @cached_property
    def _trials_s(self) -> float:
        """What the trial starts of a search, which has one place, took between its runs."""
        if self.study.search is None:
            return 0.0
        return _trials_s(self.study.candidates.filter(found_by_search=True))

    @cached_property
    def _variants_s(self) -> float:
        """What the trial starts of a winner without some of its lines took."""
        if not self.study.takes_apart:
            return 0.0
        return _trials_s(self.study.candidates.exclude(taken_from=None))

    @cached_property
    def _current(self) -> int:
        """The number of the place that is measured now."""
        return max((place.number for place in self.places if self._since(place)), default=0)

    @cached_property
    def _adds_blocks(self) -> bool:
        """Whether the study was extended last, also if it is concluded early since."""
        added = (slot for here in self._slots.values() for slot in self._added(here))
        return self.study.extended_by > 0 or any(
            slot.purpose == SlotPurpose.BLOCK for slot in added
        )

    def _added(self, slots: Sequence[SlotRow]) -> list[SlotRow]:
        """Those since the study was concluded last."""
        return [slot for slot in slots if slot.order > self.study.extended_after]

    def _since(self, place: Place) -> list[SlotRow]:
        """Its slots since the study was extended last: what follows may be another winner's."""
        here = self.slots(place)
        return self._added(here) if self._adds_blocks else here

    @cached_property
    def _ahead(self) -> dict[int, int]:
        """By number of the place: the runs that it still needs at most."""
        ahead = {}
        for place in self.places:
            here = self._since(place)
            queued = sum(not slot.is_finished for slot in self.slots(place))
            confirming = any(slot.purpose == SlotPurpose.CONFIRMATION for slot in here)
            more = 0
            if self.study.extended_by:
                more = self.owed_blocks(place) * self.runs_per_block[place.number]
            elif place.number >= self._current and not confirming:
                more = self._blocks_ahead(place)
            more += self._pair_runs(place)
            if place.number >= self._current and self.study.takes_apart and not _is_reducing(here):
                more = _with_apart(self.apart_budget(place), more)
            if self.crash_tests.is_under_way:  # whoever is killed has been measured to the end
                more = 0
            ahead[place.number] = queued + more
        return ahead

    def _pair_runs(self, place: Place) -> int:
        """Runs of pairs that may still follow at most; each durability class may have a winner.

        An extension may find another winner than the one that has its pairs.
        """
        here = self._since(place)
        if not self.owed_blocks(place) and all(one.purpose != SlotPurpose.BLOCK for one in here):
            here = self.slots(place)  # without new blocks there is no other winner
        is_over = any(one.purpose in VARIANT_PURPOSES for one in here)
        is_over = is_over or place.number < self._current or self.crash_tests.is_under_way
        if not self.study.confirms or is_over:
            return 0
        pairs = [one for one in here if one.purpose == SlotPurpose.CONFIRMATION]
        begun = {one.durability for one in pairs if not one.is_baseline}
        return 2 * most_pairs(self.study.blocks) * max(self._classes - len(begun), 0)

    def _blocks_ahead(self, place: Place) -> int:
        """Runs of blocks and screening that may still follow at most."""
        runs = max(self.budget(place).runs or 0, 0)
        if self.study.concluded_at is None:
            return runs
        if self.study.search is None:
            return 0
        begun = {s.block for s in self.slots(place) if s.purpose == SlotPurpose.BLOCK}
        each = self.runs_per_block[place.number] or Effort().finalists + 2
        return min(runs, max(CONCLUDING_BLOCKS - len(begun), 0) * each)

    def _run_s(self, place: Place) -> float:
        """Wall time of a run: the median of the successful ones, else an assumption."""
        if place.number not in self._known_s:
            self._known_s[place.number] = self._measured_s(place)
        return self._known_s[place.number]

    def _measured_s(self, place: Place) -> float:
        ok = [slot for slot in self.slots(place) if slot.state == RunState.OK]
        seen = [
            slot.run.wall_s - _longer_s(slot, place) for slot in ok if slot.run.wall_s is not None
        ]
        return max(median(seen), planned_s(place)) if seen else expected_s(place)


def _trials_s(made: QuerySet[Candidate]) -> float:
    # Of the gate's stages the third is the server's; what was refused before has none.
    third = made.values_list("checks__2__stage", "checks__2__seconds")
    return sum(max(seconds or 0.0, TRIAL_S) for stage, seconds in third if stage == Stage.SERVER)


def _with_apart(budget: Budget, others: int) -> int:
    """Runs at most, if `others` come before; they spend what is left of the minutes, too."""
    most = others + (budget.runs_left or 0)
    if budget.seconds_left is None or not budget.run_s:
        return most
    return max(others, min(most, floor(budget.seconds_left / budget.run_s)))


def _is_reducing(slots: Sequence[SlotRow]) -> bool:
    """Whether the last runs that a place can have are queued or done."""
    return bool(slots) and slots[-1].purpose == SlotPurpose.REDUCED


def planned_s(place: Place) -> float:
    """Seconds of warm-up and measuring."""
    return float(place.workload.warmup_s + place.workload.measure_s)


def expected_s(place: Place) -> float:
    """Estimated seconds of a run, before a similar one has been measured."""
    return planned_s(place) + ASSUMED_OVERHEAD_S


def _longer_s(slot: SlotRow, place: Place) -> float:
    """Seconds that a run measures longer than the others of its place."""
    return float(slot.run.measure_s - place.workload.measure_s)


def _spent_s(slot: SlotRow, run_s: float) -> float:
    """The time of a run, past or future, and of those that it replaces.

    Only a run that was cut short takes less than others.
    """
    is_short = slot.state == RunState.CUT_SHORT and slot.run.wall_s is not None
    newest_s = slot.run.wall_s if is_short and slot.run.wall_s is not None else run_s
    return newest_s + len(slot.earlier) * run_s
