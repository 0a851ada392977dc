"""Every run of a study, including those that were measured again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.models import Run, RunState
from benchmarks.telemetry.usage import USAGE_FIGURES
from tuning.models import Slot

# Columns that a list of runs does not need: some 26 KB per run.
BULKY = ("variables", "fingerprint", "conditions", "step_seconds", "log_tail", "latency")
# Columns of which the results of a study need none, in any of hundreds of runs.
UNUSED = (
    *BULKY,
    *("live", "claimed_by", "heartbeat_at", "stop_request", "load_side", "code_commit", "cpu_hz"),
    *("driver_version", "redo_mb_s", "bytes_written_source", "new_orders", "failed", "retried"),
    *("driver_cpu_ms_per_new_order", "logs_with_data", "seed"),
    *(name for name in USAGE_FIGURES if name not in ("cpu_user_pct", "cpu_sys_pct")),
)


@dataclass(frozen=True)
class RunLine:
    """A run and its slot; `again` is the run that replaced it."""

    slot: Slot
    run: Run
    again: Run | None


def read_log_tails(runs: Iterable[Run]) -> None:
    """Read the runs' `log_tail`, which a StudyResult leaves out, in one query."""
    wanted = {run.pk: run for run in runs}
    for pk, log_tail in Run.objects.filter(pk__in=wanted).values_list("pk", "log_tail"):
        wanted[pk].log_tail = log_tail


def slot_of(run: Run) -> Slot | None:
    """The slot of a run, also if a newer run has replaced it there; None for one without."""
    newest: Run | None = run
    while newest is not None:
        slot = Slot.objects.select_related("study", "candidate").filter(run=newest).first()
        if slot is not None:
            return slot
        newest = newest.retries.first()
    return None


def times_ended(run: Run | None, state: RunState) -> int:
    """How many runs in the chain of retries that ends with `run` ended in `state`."""
    count = 0
    while run is not None:
        count += run.state == state
        run = run.retry_of
    return count


def run_history(slots: Iterable[Slot]) -> list[RunLine]:
    """The slots' runs and those that they replaced, in the order of the study."""
    lines = [RunLine(slot, slot.run, None) for slot in slots]
    newer = {line.run.retry_of_id: line for line in lines if line.run.retry_of_id}
    while newer:
        older = [
            RunLine(newer[run.pk].slot, run, newer[run.pk].run)
            for run in Run.objects.filter(pk__in=newer).defer(*UNUSED)
        ]
        lines += older
        newer = {line.run.retry_of_id: line for line in older if line.run.retry_of_id}
    return sorted(lines, key=lambda line: (line.slot.order, line.run.pk))
