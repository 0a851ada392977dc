"""What a user may do to a study that exists: pause, resume, conclude, cancel, extend, ablate.

Each command changes the study's row under a condition, so that two users cannot both succeed. Each
has a `check_can_...` that raises the same TuningError and changes nothing.

A pause is no state: a paused study keeps its state and its rows and continues from there.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.counted import counted
from benchmarks.jobs import heartbeat
from benchmarks.jobs.cancelling import cancel_jobs
from benchmarks.models import CrashTest, Run, RunState
from tuning.errors import BadRequest, TuningError
from tuning.models import ACTIVE_STUDY_STATES, EventKind, SlotPurpose, Study, StudyState
from tuning.requests.study import MAX_BLOCKS
from tuning.results.stored_documents import document_of
from tuning.statistics.confirmation import ConfirmationState
from tuning.strategy.protocol import NOT_FOR_AN_ANSWER, Purpose
from tuning.studies.absence import close_what_was_cancelled
from tuning.studies.budget import StudyBudget
from tuning.studies.events import note_action
from tuning.studies.holds import check_none_retired, pause_columns
from tuning.studies.revision import bump
from tuning.studies.rows import last_order
from tuning.studies.scheduler import advance_host


def pause_study(study: Study, *, by: str = "", reason: str = "") -> None:
    """Start nothing more of the study after its current job, until it is resumed.

    Raises TuningError: already_paused, already_ended, being_cancelled.
    """
    rows = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES, paused_at=None)
    rows = rows.exclude(stop_request=heartbeat.CANCELLED)
    is_new = rows.update(**pause_columns(by, reason), revision=F("revision") + 1)
    study.refresh_from_db()
    if not is_new:
        check_can_pause(study)
    note_action(study, EventKind.PAUSED, by=by, reason=reason)
    advance_host(study.host_id)


def check_can_pause(study: Study) -> None:
    """Raise TuningError where `pause_study` would."""
    _check_can_stop(study)
    if study.is_paused:
        raise TuningError("already_paused", "the study is already paused")


def resume_study(study: Study, *, by: str = "") -> None:
    """Resume a paused study: at once, or after the study that is running now.

    Raises TuningError: not_paused, already_ended, device_retired, host_retired.
    """
    check_can_resume(study)
    rows = Study.objects.filter(
        pk=study.pk, state__in=ACTIVE_STUDY_STATES, paused_at__isnull=False
    )
    was_paused = rows.update(
        paused_at=None,
        paused_by="",
        pause_reason="",
        resumed_at=Now(),
        revision=F("revision") + 1,
    )
    study.refresh_from_db()
    if not was_paused:
        check_can_resume(study)
    note_action(study, EventKind.RESUMED, by=by)
    advance_host(study.host_id)


def check_can_resume(study: Study) -> None:
    """Raise TuningError where `resume_study` would."""
    check_can_cancel(study)
    if not study.is_paused:
        raise TuningError("not_paused", "the study is not paused")
    check_none_retired(study)


def conclude_study(study: Study, *, by: str = "") -> None:
    """Measure only what the study needs for an answer, then end it.

    A search stops screening; its best few race for a few blocks and the winner is confirmed. Any
    other study confirms what its blocks have found. The current job is finished first. A paused
    study stays paused and does this when it is resumed.

    Raises TuningError: already_ended, being_cancelled, already_concluding, nothing_measured.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        check_can_conclude(locked)
        bump([study.pk])
        locked.concluded_at, locked.extended_by = timezone.now(), 0
        locked.save(update_fields=["concluded_at", "extended_by"])
        note_action(locked, EventKind.CONCLUDED, by=by)
        _delete_unneeded_runs(locked)
    study.refresh_from_db()
    advance_host(study.host_id)


def check_can_conclude(study: Study) -> None:
    """Raise TuningError where `conclude_study` would."""
    _check_can_stop(study)
    if study.is_concluding:
        raise TuningError("already_concluding", "the study is already being concluded")
    ok = study.slots.filter(run__state=RunState.OK)
    for is_baseline, config in ((True, "the baseline"), (False, "any other config")):
        if not ok.filter(candidate__is_baseline=is_baseline).exists():
            raise TuningError(
                "nothing_measured",
                f"there is no result of {config} yet, so there is nothing to conclude; a study "
                "can be cancelled at any time",
            )


def _delete_unneeded_runs(study: Study) -> None:
    """Delete the queued runs that the answer does not need; none of them has begun.

    A search loses the runs that screen, and keeps the few blocks of its race. Any other study
    loses the rest of its block, and keeps repeated runs of earlier blocks. No ablation goes on.
    """
    unneeded = Q(purpose__in=NOT_FOR_AN_ANSWER)
    if study.search is None:
        unneeded |= Q(purpose=Purpose.BLOCK, run__retry_of=None)
    queued = study.slots.filter(unneeded, run__state=RunState.QUEUED)
    # The lock: a worker may be about to claim one of them.
    runs = Run.objects.select_for_update().filter(pk__in=queued.values("run"))
    for run in runs.filter(state=RunState.QUEUED):
        if run.retry_of_id is None:
            study.slots.filter(run=run).delete()
        else:
            study.slots.filter(run=run).update(run=run.retry_of_id)
        run.delete()


def cancel_study(study: Study, *, by: str = "") -> None:
    """Cancel the study: the current run stops within seconds, queued runs never start.

    Raises TuningError, already_ended.
    """
    is_active = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES).update(
        stop_request=heartbeat.CANCELLED, paused_at=None, revision=F("revision") + 1
    )
    if not is_active:
        study.refresh_from_db()
        check_can_cancel(study)
    note_action(study, EventKind.CANCELLED, by=by)
    with transaction.atomic():
        bump([study.pk])
        cancel_jobs(Run.objects.filter(slot__study=study))
        cancel_jobs(CrashTest.objects.filter(slot__study=study))
    close_what_was_cancelled(study.host_id)
    advance_host(study.host_id)


def check_can_cancel(study: Study) -> None:
    """Raise TuningError where `cancel_study` would."""
    if study.is_finished:
        raise TuningError("already_ended", "the study has ended")


def _check_can_stop(study: Study) -> None:
    check_can_cancel(study)
    if study.stop_request == heartbeat.CANCELLED:
        raise TuningError("being_cancelled", "the study is being cancelled")


def extend_study(study: Study, blocks: int, *, by: str = "") -> None:
    """Measure more blocks of a finished study and conclude it again.

    Raises BadRequest for a number out of range, TuningError: is_a_gate, not_finished,
    nothing_left, device_retired, host_retired.
    """
    if not 1 <= blocks <= MAX_BLOCKS:
        raise BadRequest(f"blocks must be between 1 and {MAX_BLOCKS}", field="blocks")
    check_can_extend(study)
    with transaction.atomic():
        is_reopened = Study.objects.filter(pk=study.pk, state=StudyState.FINISHED).update(
            state=StudyState.RUNNING,
            finished_at=None,
            blocks=F("blocks") + blocks,
            added_blocks=F("added_blocks") + blocks,
            concluded_at=None,
            extended_by=blocks,
            extended_after=last_order(study),
            conclusions=F("conclusions") + 1,
            resumed_at=Now(),
            revision=F("revision") + 1,
        )
        study.refresh_from_db()
        if not is_reopened:
            check_can_extend(study)
        if not any(StudyBudget(study, ()).runs_per_block):
            raise TuningError("nothing_left", _nothing_left(study))
        number = counted(blocks, "more block")
        note_action(study, EventKind.EXTENDED, by=by, reason=number)
        transaction.on_commit(lambda: advance_host(study.host_id))


def check_can_extend(study: Study) -> None:
    """Raise TuningError where `extend_study` would, whatever the number of blocks."""
    if study.gate is not None:
        raise TuningError("is_a_gate", "the pairs of a gate are fixed before the first: ask again")
    if study.state != StudyState.FINISHED:
        raise TuningError("not_finished", "only a finished study can be extended")
    check_none_retired(study)


def _nothing_left(study: Study) -> str:
    if study.slots.filter(purpose=SlotPurpose.BLOCK).exists():
        return "every candidate has left the race, so there is nothing left to measure"
    return "the search took no config into a race, so there is nothing to measure again"


def start_ablation(study: Study, *, by: str = "") -> None:
    """Measure the confirmed winner without some of its lines, then conclude the study again.

    The study's minutes do not limit that; the number of runs is limited (MAX_APART_RUNS).

    Raises TuningError: not_finished, nothing_confirmed, nothing_left, device_retired,
    host_retired.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        check_can_start_ablation(locked)
        Study.objects.filter(pk=study.pk).update(
            state=StudyState.RUNNING,
            finished_at=None,
            takes_apart=True,
            apart_without_end=True,
            extended_by=0,
            extended_after=last_order(locked),
            resumed_at=Now(),
            revision=F("revision") + 1,
        )
        note_action(locked, EventKind.TAKEN_APART, by=by)
        transaction.on_commit(lambda: advance_host(study.host_id))
    study.refresh_from_db()


def check_can_start_ablation(study: Study) -> None:
    """Raise TuningError where `start_ablation` would."""
    if study.state != StudyState.FINISHED:
        raise TuningError("not_finished", "only the winner of a finished study can be tested")
    check_none_retired(study)
    confirmed = study.recommendations.filter(confirmation=ConfirmationState.CONFIRMED)
    if study.concluded_at is not None or not confirmed.exists():
        raise TuningError(
            "nothing_confirmed",
            "only a confirmed winner can be tested line by line, in a study that was not "
            "concluded early",
        )
    if not document_of(study).can_be_taken_apart:
        raise TuningError("nothing_left", "every line of the winner has been tested")
