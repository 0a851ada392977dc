"""Queues runs again that ended because of the worker or the host, not because of the config."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.models import LoadJob, Run, RunState
from benchmarks.outcomes import Outcome
from tuning.models import EventKind, Slot, Study
from tuning.results.study_rows import StudyRows
from tuning.strategy.protocol import NOT_FOR_AN_ANSWER
from tuning.studies.budget import StudyBudget
from tuning.studies.events import note_action, note_retry
from tuning.studies.revision import bump
from tuning.studies.waiting import pause_columns

# A host on which this many runs were disturbed and none succeeded will not become quiet: every
# other run of the study is measured once, but not again.
NEVER_QUIET_RUNS = 6


def retry_interrupted(study: Study) -> None:
    """Queue lost, stopped and disturbed runs of a study again, unless it was cancelled.

    So is one that found the disk full, and the study is paused until somebody has made room; that
    of a load host is never the config's doing, however often.

    A retry is a new run that points to the old one and replaces it in the block. What was void
    when the study was concluded stays so, whatever is measured later. Safe to repeat; the caller
    holds the study's row.
    """
    bounds = retry_bounds()
    if study.stop_request == CANCELLED:
        return
    interrupted = study.slots.filter(run__state__in=bounds, order__gt=study.extended_after)
    if study.concluded_at is not None:
        interrupted = interrupted.exclude(purpose__in=NOT_FOR_AN_ANSWER)
    for slot in interrupted.select_related("run", "run__retry_of"):
        state = RunState(slot.run.state)
        bound = bounds[state]
        if bound is not None and _times_ended_so(slot.run) > bound:
            continue
        if state == RunState.DISTURBED and (_is_never_quiet(study) or not _has_time(study, slot)):
            continue
        reason = slot.run.reason
        _retry(slot)
        if state == RunState.DISK_FULL:
            _pause(study, reason)


def retry_bounds() -> dict[RunState, int | None]:
    """How often a run with that outcome is measured again; None is "always".

    A worker that is stopped regularly gives its run back, however often; a run whose worker died
    may be the cause.
    """
    return {
        RunState.LOST: settings.LOST_RUN_RETRIES,
        RunState.DISK_FULL: settings.DISK_FULL_RUN_RETRIES,
        RunState.DISTURBED: settings.DISTURBED_RUN_RETRIES,
        RunState.CANCELLED: None,
    }


def _times_ended_so(run: Run) -> int:
    """How many runs in the chain of retries that ends with `run` ended in its state.

    One that found the disk of a load host full counts for nothing.
    """
    chain = [run]
    while (older := chain[-1].retry_of) is not None:
        chain.append(older)
    alike = [one for one in chain if one.state == run.state]
    if run.state != RunState.DISK_FULL:
        return len(alike)
    elsewhere = LoadJob.objects.filter(run__in=alike, reason_code=Outcome.DISK_FULL)
    return len(alike) - elsewhere.values("run").distinct().count()


def _is_never_quiet(study: Study) -> bool:
    if study.slots.filter(run__state=RunState.OK).exists():
        return False
    disturbed = (run.state == RunState.DISTURBED for run in StudyRows(study).runs)
    return sum(disturbed) >= NEVER_QUIET_RUNS


def _has_time(study: Study, slot: Slot) -> bool:
    """Whether a study with an end has the time to measure the slot once more."""
    if not study.has_end:
        return True
    budget = StudyBudget(StudyRows(study))
    where = slot.device_id, slot.workload_id
    (there,) = (one for one in budget.places if one.place.key == where)
    return there.may_measure_again(slot.purpose)


def _pause(study: Study, reason: str) -> None:
    if not study.is_paused:
        for column, value in pause_columns("the advisor", reason).items():
            setattr(study, column, value)
        bump([study.pk])
        study.save(update_fields=["paused_at", "paused_by", "pause_reason"])
        note_action(study, EventKind.PAUSED, by=study.paused_by, reason=reason)


def _retry(slot: Slot) -> None:
    old = slot.run
    # Takes the claim away, so that no late result is stored: only the new run may have one.
    ours = Run.objects.filter(pk=old.pk, state=old.state, slot=slot)
    with transaction.atomic():
        bump([slot.study_id])
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
            binary_log=old.binary_log,
            applied=old.applied,
            retry_of=old,
        )
        slot.save(update_fields=["run"])
        note_retry(slot)
