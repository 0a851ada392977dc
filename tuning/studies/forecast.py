"""How many runs a study will still need at most, and how long each takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.models import Device, Run, RunState, Workload
from tuning.models import Candidate, Slot, SlotPurpose, Study
from tuning.statistics.confirmation import LEAST_PAIRS
from tuning.strategy.racing import Budget
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
    found = study.candidates.filter(refusal="", merged_into=None).select_related("config")
    return sorted(found, key=lambda candidate: not candidate.is_baseline)


def budget(study: Study, arena: Arena, slots: Iterable[Slot]) -> Budget:
    """What the arena's blocks may still take, by the study's slots with their runs."""
    here = [slot for slot in slots if arena.has(slot)]
    spent = sum(slot.purpose == SlotPurpose.BLOCK for slot in here)
    if study.budget_minutes is None:
        # Who leaves the race leaves his runs to the others; the baseline runs twice.
        runs = study.blocks * (len(measurable(study)) + 1)
        return Budget(runs_left=max(runs - spent, 0))
    share = study.budget_minutes * 60 / len(arenas(study))
    run_s = _run_s(here, arena.workload)
    pairs_s = 2 * LEAST_PAIRS * run_s if study.confirms else 0.0
    spent_s = sum(_spent_s(slot.run, run_s) for slot in here if slot.purpose == SlotPurpose.BLOCK)
    return Budget(seconds_left=share - pairs_s - spent_s, run_s=run_s)


def forecast(study: Study, slots: Sequence[Slot]) -> list[Ahead]:
    """What lies ahead in every arena, at most; `slots` are all of the study with their runs."""
    places = arenas(study)
    begun = [place for place in places if any(place.has(slot) for slot in slots)]
    current = begun[-1].number if begun else 0
    ahead = []
    for place in places:
        here = [slot for slot in slots if place.has(slot)]
        queued = sum(not slot.run.is_finished for slot in here)
        confirming = any(slot.purpose == SlotPurpose.CONFIRMATION for slot in here)
        more = 0
        if place.number >= current and not confirming:
            more = max(budget(study, place, slots).runs or 0, 0)
            more += 2 * LEAST_PAIRS if study.confirms else 0
        ahead.append(Ahead(queued + more, _run_s(here, place.workload)))
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
