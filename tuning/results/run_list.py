"""Every run of a study, including those that were measured again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from benchmarks.models import Run
from tuning.models import Slot
from tuning.results.slot_rows import RunRow, SlotRow

# Columns that a list of runs does not need: some 26 KB per run.
BULKY = ("variables", "fingerprint", "conditions", "step_seconds", "log_tail", "latency")


class RunLine(NamedTuple):
    """A run and its slot; `again` is the run that replaced it."""

    slot: SlotRow
    run: RunRow
    again: RunRow | None


def log_tails(runs: Collection[int]) -> dict[int, str]:
    """The runs' `log_tail` by primary key, in one query at most."""
    found = Run.objects.filter(pk__in=runs).values_list("pk", "log_tail") if runs else ()
    return dict(found)


def slot_of(run: Run) -> Slot | None:
    """The slot of a run, also if a newer run has replaced it there; None for one without."""
    newest: Run | None = run
    while newest is not None:
        slot = Slot.objects.select_related("study", "candidate").filter(run=newest).first()
        if slot is not None:
            return slot
        newest = newest.retries.first()
    return None


def run_history(slots: Iterable[SlotRow]) -> list[RunLine]:
    """The slots' runs and those that they replaced, in the order of the study."""
    lines = []
    for slot in slots:
        again = None
        for run in (slot.run, *slot.earlier):
            lines.append(RunLine(slot, run, again))
            again = run
    return sorted(lines, key=lambda line: (line.slot.order, line.run.pk))
