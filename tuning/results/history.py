"""Every run of a study, those that were measured again included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.models import Run
from tuning.models import BULKY_COLUMNS, Slot, Study

# What a list of runs has no use for: some 25 KB per run.
BULKY = (*BULKY_COLUMNS, "log_tail")


@dataclass(frozen=True)
class RunLine:
    """A run and the place it was measured for; `again` is the run that took its place."""

    slot: Slot
    run: Run
    again: Run | None


def slots_of(study: Study) -> list[Slot]:
    """The study's slots with their newest runs, candidates and workloads, in their order."""
    found = study.slots.select_related("run", "candidate", "workload")
    return list(found.defer(*(f"run__{name}" for name in BULKY)))


def run_history(slots: Iterable[Slot]) -> list[RunLine]:
    """The slots' runs and those that they took the place of, in the order of the study."""
    lines = [RunLine(slot, slot.run, None) for slot in slots]
    newer = {line.run.retry_of_id: line for line in lines if line.run.retry_of_id}
    while newer:
        older = [
            RunLine(newer[run.pk].slot, run, newer[run.pk].run)
            for run in Run.objects.filter(pk__in=newer).defer(*BULKY)
        ]
        lines += older
        newer = {line.run.retry_of_id: line for line in older if line.run.retry_of_id}
    return sorted(lines, key=lambda line: (line.slot.order, line.run.pk))
