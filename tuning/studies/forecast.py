"""How many runs a study will still need at most, and how long each takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from django.db.models import QuerySet

from benchmarks.models import Device, Run, RunState, Workload
from tuning.models import Candidate, Slot, SlotPurpose, Study
from tuning.statistics.confirmation import LEAST_PAIRS
from tuning.strategy.protocol import Budget
from tuning.study_templates import StudyTemplate

# Until a first run has shown it: what a run takes beside warm-up and measured time, in seconds.
ASSUMED_OVERHEAD_S = 10.0


@dataclass(frozen=True)
class Arena:
    """Where candidates meet: one device with one workload. `number` counts from 0."""

    number: int
    device: Device
    workload: Workload

    def has(self, slot: Slot) -> bool:
        """Whether the slot is one of this place."""
        return (slot.device_id, slot.workload_id) == (self.device.pk, self.workload.pk)


@dataclass(frozen=True)
class Ahead:
    """Runs that one arena still needs at most, and seconds that one of them takes."""

    runs: int
    run_s: float


def arenas(study: Study) -> list[Arena]:
    """Every device with every workload, in the order they are measured."""
    places = [
        (device, workload)
        for device in study.devices.order_by("pk")
        for workload in study.workloads.order_by("connections", "pk")
    ]
    return [Arena(number, *place) for number, place in enumerate(places)]


def measurable(study: Study) -> list[Candidate]:
    """The candidates that the gate let through, the baseline first."""
    found = _measurable(study).select_related("config")
    return sorted(found, key=lambda candidate: not candidate.is_baseline)


def _measurable(study: Study) -> QuerySet[Candidate]:
    return study.candidates.filter(refusal="", merged_into=None)


def budget(study: Study, arena: Arena, slots: Iterable[Slot]) -> Budget:
    """What the arena's blocks took and may still take, by the study's slots with their runs."""
    here = [slot for slot in slots if arena.has(slot)]
    in_blocks = [slot for slot in here if slot.purpose == SlotPurpose.BLOCK]
    run_s = _run_s(here, arena.workload)
    spent_s = sum(_spent_s(slot.run, run_s) for slot in in_blocks)
    if study.budget_minutes is None:
        # What leaves the race leaves its runs to the others; the baseline runs twice.
        runs = study.blocks * (_measurable(study).count() + 1)
        left = max(runs - len(in_blocks), 0)
        return Budget(runs_left=left, runs_spent=len(in_blocks), seconds_spent=spent_s)
    share = study.budget_minutes * 60 / len(arenas(study))
    pairs_s = 2 * LEAST_PAIRS * run_s if study.confirms else 0.0
    return Budget(
        seconds_left=share - pairs_s - spent_s,
        run_s=run_s,
        runs_spent=len(in_blocks),
        seconds_spent=spent_s,
    )


def owed_blocks(study: Study, arena: Arena, slots: Iterable[Slot]) -> int:
    """Blocks of the study's last extension that the arena has not begun yet."""
    begun = {
        slot.block
        for slot in slots
        if arena.has(slot)
        and slot.purpose == SlotPurpose.BLOCK
        and slot.order > study.extended_after
    }
    return max(study.extended_by - len(begun), 0)


def runs_per_block(study: Study) -> dict[int, int]:
    """By number of the arena: the runs of a block of those still in its race; 0 without any."""
    candidates = _measurable(study).count()
    gone = Counter(study.eliminations.values_list("device_id", "workload_id"))
    found = {}
    for place in arenas(study):
        left = candidates - gone[place.device.pk, place.workload.pk]
        found[place.number] = left + 1 if left > 1 else 0
    return found


def forecast(study: Study, slots: Sequence[Slot]) -> list[Ahead]:
    """What lies ahead in every arena, at most; `slots` are all of the study with their runs."""
    places = arenas(study)
    begun = [place for place in places if any(place.has(slot) for slot in slots)]
    current = begun[-1].number if begun else 0
    left = runs_per_block(study) if study.extended_by else {}
    ahead = []
    for place in places:
        here = [slot for slot in slots if place.has(slot)]
        queued = sum(not slot.run.is_finished for slot in here)
        confirming = any(slot.purpose == SlotPurpose.CONFIRMATION for slot in here)
        more = 0
        if place.number >= current and not confirming:
            more = max(budget(study, place, slots).runs or 0, 0)
            more += 2 * LEAST_PAIRS if study.confirms else 0
        owed = owed_blocks(study, place, slots) * left.get(place.number, 0)
        ahead.append(Ahead(queued + max(more, owed), _run_s(here, place.workload)))
    return ahead


def template_seconds(template: StudyTemplate, cpus: int) -> float:
    """What all blocks take on one device of a host with so many CPUs, without files of the user's
    and with the dataset loaded; the confirmation of a winner comes on top.
    """
    # The baseline runs twice in each block.
    candidates = len(template.candidates) + template.copies_of_baseline + 1
    runs = len(template.connections_on(cpus)) * template.blocks * candidates
    return runs * (template.warmup_s + template.measure_s + ASSUMED_OVERHEAD_S)


def expected_s(run: Run) -> float:
    """Seconds that a run takes, before any of its kind has shown it."""
    return run.workload.warmup_s + run.workload.measure_s + ASSUMED_OVERHEAD_S


def _run_s(slots: Iterable[Slot], workload: Workload) -> float:
    """Wall time of a run: the median of those that ended well, else an assumption."""
    seen = [
        seconds
        for slot in slots
        if slot.run.state == RunState.OK and (seconds := _wall_s(slot.run)) is not None
    ]
    planned = workload.warmup_s + workload.measure_s
    return max(median(seen), planned) if seen else planned + ASSUMED_OVERHEAD_S


def _spent_s(run: Run, run_s: float) -> float:
    """What a run of a block took or will: only one that was cut short takes less than others."""
    wall_s = _wall_s(run)
    return wall_s if run.state == RunState.CUT_SHORT and wall_s is not None else run_s


def _wall_s(run: Run) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return (run.finished_at - run.started_at).total_seconds()
