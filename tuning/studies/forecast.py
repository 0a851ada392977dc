"""How many runs a study will still need at most, and how long each takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from django.db.models import QuerySet

from benchmarks.models import Device, RunState, Workload
from tuning.models import Candidate, SlotPurpose, Study
from tuning.statistics.confirmation import LEAST_PAIRS
from tuning.strategy.protocol import Budget
from tuning.studies.slot_states import SlotState
from tuning.study_templates.loader import StudyTemplate

# Until a first run has shown it: what a run takes beside warm-up and measured time, in seconds.
ASSUMED_OVERHEAD_S = 10.0


@dataclass(frozen=True)
class Arena:
    """Where candidates meet: one device with one workload. `number` counts from 0."""

    number: int
    device: Device
    workload: Workload

    @property
    def place(self) -> tuple[int, int]:
        """Primary keys of the device and the workload."""
        return self.device.pk, self.workload.pk


def arenas(study: Study) -> list[Arena]:
    """Every device with every workload, in the order they are measured."""
    devices = sorted(study.devices.all(), key=lambda one: one.pk)
    workloads = sorted(study.workloads.all(), key=lambda one: (one.connections, one.pk))
    places = [(device, workload) for device in devices for workload in workloads]
    return [Arena(number, *place) for number, place in enumerate(places)]


def measurable(study: Study) -> list[Candidate]:
    """The candidates that the gate let through, the baseline first."""
    found = _measurable(study).select_related("config")
    return sorted(found, key=lambda candidate: not candidate.is_baseline)


def _measurable(study: Study) -> QuerySet[Candidate]:
    return study.candidates.filter(refusal="", merged_into=None)


class Forecast:
    """What a study spent and may still spend; `slots` are all of it.

    Takes the same few queries however many arenas, candidates and slots there are.
    """

    def __init__(self, study: Study, slots: Sequence[SlotState]) -> None:
        self.study = study
        self.arenas = arenas(study)
        self._slots: dict[tuple[int, int], list[SlotState]] = {}
        for slot in slots:
            self._slots.setdefault(slot.place, []).append(slot)

    def slots(self, arena: Arena) -> list[SlotState]:
        """The arena's slots, in their order."""
        return self._slots.get(arena.place, [])

    @property
    def runs(self) -> int:
        """Runs that the study still needs at most."""
        return sum(self._ahead.values())

    @property
    def seconds(self) -> float:
        """What they take."""
        return sum(runs * self._run_s(self.arenas[at]) for at, runs in self._ahead.items())

    @cached_property
    def runs_per_block(self) -> dict[int, int]:
        """By number of the arena: runs of a block of those still in its race; 0 without any."""
        gone = Counter(self.study.eliminations.values_list("device_id", "workload_id"))
        left = {arena.number: self._candidates - gone[arena.place] for arena in self.arenas}
        # The baseline runs twice.
        return {number: count + 1 if count > 1 else 0 for number, count in left.items()}

    def budget(self, arena: Arena) -> Budget:
        """What the arena's blocks took and may still take."""
        in_blocks = [slot for slot in self.slots(arena) if slot.purpose == SlotPurpose.BLOCK]
        run_s = self._run_s(arena)
        spent_s = sum(_spent_s(slot, run_s) for slot in in_blocks)
        if self.study.budget_minutes is None:
            # What leaves the race leaves its runs to the others; the baseline runs twice.
            runs = self.study.blocks * (self._candidates + 1)
            left = max(runs - len(in_blocks), 0)
            return Budget(runs_left=left, runs_spent=len(in_blocks), seconds_spent=spent_s)
        share = self.study.budget_minutes * 60 / len(self.arenas)
        pairs_s = 2 * LEAST_PAIRS * run_s if self.study.confirms else 0.0
        return Budget(
            seconds_left=share - pairs_s - spent_s,
            run_s=run_s,
            runs_spent=len(in_blocks),
            seconds_spent=spent_s,
        )

    def owed_blocks(self, arena: Arena) -> int:
        """Blocks of the study's last extension that the arena has not begun yet."""
        begun = {
            slot.block
            for slot in self.slots(arena)
            if slot.purpose == SlotPurpose.BLOCK and slot.order > self.study.extended_after
        }
        return max(self.study.extended_by - len(begun), 0)

    @cached_property
    def _candidates(self) -> int:
        return _measurable(self.study).count()

    @cached_property
    def _ahead(self) -> dict[int, int]:
        """By number of the arena the runs that it still needs at most."""
        current = max((arena.number for arena in self.arenas if self.slots(arena)), default=0)
        ahead = {}
        for arena in self.arenas:
            here = self.slots(arena)
            queued = sum(not slot.is_finished for slot in here)
            confirming = any(slot.purpose == SlotPurpose.CONFIRMATION for slot in here)
            more = 0
            if arena.number >= current and not confirming:
                more = max(self.budget(arena).runs or 0, 0)
                more += 2 * LEAST_PAIRS if self.study.confirms else 0
            if self.study.extended_by:
                more = max(more, self.owed_blocks(arena) * self.runs_per_block[arena.number])
            ahead[arena.number] = queued + more
        return ahead

    def _run_s(self, arena: Arena) -> float:
        """Wall time of a run: the median of those that ended well, else an assumption."""
        ok = (slot.wall_s for slot in self.slots(arena) if slot.state == RunState.OK)
        seen = [seconds for seconds in ok if seconds is not None]
        return max(median(seen), planned_s(arena)) if seen else expected_s(arena)


def template_seconds(template: StudyTemplate, cpus: int) -> float:
    """What all blocks take on one device of a host with so many CPUs, without files of the user's
    and with the dataset loaded; the confirmation of a winner comes on top.
    """
    # The baseline runs twice in each block.
    candidates = len(template.candidates) + template.copies_of_baseline + 1
    runs = len(template.connections_on(cpus)) * template.blocks * candidates
    return runs * (template.warmup_s + template.measure_s + ASSUMED_OVERHEAD_S)


def planned_s(arena: Arena) -> float:
    """Seconds of warm-up and measuring."""
    return float(arena.workload.warmup_s + arena.workload.measure_s)


def expected_s(arena: Arena) -> float:
    """Seconds that a run takes, before any of its kind has shown it."""
    return planned_s(arena) + ASSUMED_OVERHEAD_S


def _spent_s(slot: SlotState, run_s: float) -> float:
    """What a run of a block took or will: only one that was cut short takes less than others."""
    if slot.state == RunState.CUT_SHORT and slot.wall_s is not None:
        return slot.wall_s
    return run_s
