"""Queues again what ended because of the worker or the host and not because of the config."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.models import Run, RunState
from tuning.models import Slot, Study
from tuning.results.study_result import StudyResult

# A host on which so many runs were disturbed and none was quiet is not going to be: each of the
# study's other runs still has its chance, but only one.
NEVER_QUIET_RUNS = 6


def retry_interrupted(study: Study) -> None:
    """Queue every lost, stopped or disturbed run of a study that nobody cancelled, within bounds.

    A retry is a new run that points to the old one and takes its place in the block. Safe to
    repeat by whoever holds the study's row.
    """
    bounds = retry_bounds()
    if study.stop_request == CANCELLED:
        return
    interrupted = study.slots.filter(run__state__in=bounds)
    for slot in interrupted.select_related("run", "run__retry_of"):
        state = RunState(slot.run.state)
        bound = bounds[state]
        if bound is not None and times_ended(slot.run, state) > bound:
            continue
        if state == RunState.DISTURBED and _is_never_quiet(study):
            continue
        _retry(slot)


def retry_bounds() -> dict[RunState, int | None]:
    """How often a run that ended so is measured again.

    A worker that is stopped in good order gives its run back, however often; a run whose worker
    died may be the reason of that.
    """
    return {
        RunState.LOST: settings.LOST_RUN_RETRIES,
        RunState.DISTURBED: settings.DISTURBED_RUN_RETRIES,
        RunState.CANCELLED: None,
    }


def times_ended(run: Run | None, state: RunState) -> int:
    """How many runs of the chain that `run` is the last of ended in `state`."""
    count = 0
    while run is not None:
        count += run.state == state
        run = run.retry_of
    return count


def _is_never_quiet(study: Study) -> bool:
    if study.slots.filter(run__state=RunState.OK).exists():
        return False
    disturbed = (line.run.state == RunState.DISTURBED for line in StudyResult(study).history)
    return sum(disturbed) >= NEVER_QUIET_RUNS


def _retry(slot: Slot) -> None:
    old = slot.run
    # Whoever measured it can not store a result any more: there is to be one, the new run's.
    ours = Run.objects.filter(pk=old.pk, state=old.state, slot=slot)
    with transaction.atomic():
        if not ours.update(claimed_by=""):
            return
        slot.run = Run.objects.create(
            host=old.host,
            device=old.device,
            server=old.server,
            workload=old.workload,
            config=old.config,
            seed=old.seed,
            logs_with_data=old.logs_with_data,
            retry_of=old,
        )
        slot.save(update_fields=["run"])
