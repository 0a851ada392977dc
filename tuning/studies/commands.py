"""A user's commands for a study that exists: pause, resume, conclude, cancel, extend, ablate.

Each command locks the study's row, checks and changes it, so that two users cannot both succeed.
Each has a `check_can_...` that raises the same TuningError and changes nothing.

A pause is no state: a paused study keeps its state and its rows and continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.counted import counted
from benchmarks.jobs.heartbeat import CANCELLED, cancel_jobs
from benchmarks.models import CrashTest, Run, RunState
from tuning.errors import BadRequest, TuningError
from tuning.models import EventKind, SlotPurpose, Study, StudyState
from tuning.requests.study import MAX_BLOCKS
from tuning.results.study_rows import StudyRows
from tuning.statistics.confirmation import ConfirmationState
from tuning.stored_documents import document_of
from tuning.strategy.protocol import NOT_FOR_AN_ANSWER, Purpose
from tuning.studies.absence import close_what_was_cancelled
from tuning.studies.budget import StudyBudget
from tuning.studies.events import note_action
from tuning.studies.revision import bump
from tuning.studies.rows import last_order
from tuning.studies.scheduler import advance_host
from tuning.studies.waiting import check_none_retired, pause_columns


@contextmanager
def _changing(study: Study, check: Callable[[Study], None] | None = None) -> Iterator[Study]:
    """Lock and check the study's row and raise its revision; then renew it and wake its host."""
    with transaction.atomic():
        bump([study.pk])
        row = Study.objects.select_related("host").get(pk=study.pk)
        if check is not None:
            check(row)
        yield row
    study.refresh_from_db()
    advance_host(study.host_id)


def _set(study: Study, **columns: Any) -> None:
    Study.objects.filter(pk=study.pk).update(**columns)


def pause_study(study: Study, *, by: str = "", reason: str = "") -> None:
    """Start nothing more of the study after its current job, until it is resumed.

    Raises TuningError: already_paused, already_ended, being_cancelled.
    """
    with _changing(study, check_can_pause) as row:
        _set(row, **pause_columns(by, reason))
        note_action(row, EventKind.PAUSED, by=by, reason=reason)


def check_can_pause(study: Study) -> None:
    """Raise TuningError where `pause_study` would."""
    _check_can_stop(study)
    if study.is_paused:
        raise TuningError("already_paused", "the study is already paused")


def resume_study(study: Study, *, by: str = "") -> None:
    """Resume a paused study: at once, or after the study that is running now.

    Raises TuningError: not_paused, already_ended, device_retired, host_retired.
    """
    with _changing(study, check_can_resume) as row:
        _set(row, paused_at=None, paused_by="", pause_reason="", resumed_at=Now())
        note_action(row, EventKind.RESUMED, by=by)


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
    with _changing(study, check_can_conclude) as row:
        _set(row, concluded_at=timezone.now(), extended_by=0)
        note_action(row, EventKind.CONCLUDED, by=by)
        _delete_unneeded_runs(row)


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
    with _changing(study, check_can_cancel) as row:
        _set(row, stop_request=CANCELLED, paused_at=None)
        note_action(row, EventKind.CANCELLED, by=by)
        cancel_jobs(Run.objects.filter(slot__study=row))
        cancel_jobs(CrashTest.objects.filter(slot__study=row))
    close_what_was_cancelled(study.host_id)


def check_can_cancel(study: Study) -> None:
    """Raise TuningError where `cancel_study` would."""
    if study.is_finished:
        raise TuningError("already_ended", "the study has ended")


def _check_can_stop(study: Study) -> None:
    check_can_cancel(study)
    if study.stop_request == CANCELLED:
        raise TuningError("being_cancelled", "the study is being cancelled")


def extend_study(study: Study, blocks: int, *, by: str = "") -> None:
    """Measure more blocks of a finished study and conclude it again.

    Raises BadRequest for a number out of range, TuningError: is_a_gate, not_finished,
    nothing_left, device_retired, host_retired.
    """
    if not 1 <= blocks <= MAX_BLOCKS:
        raise BadRequest(f"blocks must be between 1 and {MAX_BLOCKS}", field="blocks")
    with _changing(study, check_can_extend) as row:
        _reopen(
            row,
            blocks=row.blocks + blocks,
            concluded_at=None,
            extended_by=blocks,
            conclusions=row.conclusions + 1,
        )
        row.refresh_from_db()
        if not any(StudyBudget(StudyRows(row)).runs_per_block):
            raise TuningError("nothing_left", _nothing_left(row))
        note_action(row, EventKind.EXTENDED, by=by, reason=counted(blocks, "more block"))


def check_can_extend(study: Study) -> None:
    """Raise TuningError where `extend_study` would, whatever the number of blocks."""
    if study.gate is not None:
        raise TuningError("is_a_gate", "the pairs of a gate are fixed before the first: ask again")
    if study.state != StudyState.FINISHED:
        raise TuningError("not_finished", "only a finished study can be extended")
    check_none_retired(study)


def describe_study(study: Study, **columns: str) -> None:
    """Set its name or its tags."""
    with _changing(study) as row:
        _set(row, **columns)


def archive_study(study: Study) -> None:
    """Take an ended study off the lists; its results still count. Raises TuningError."""
    with _changing(study, check_can_archive) as row:
        _set(row, archived_at=Now())


def check_can_archive(study: Study) -> None:
    """Raise TuningError where `archive_study` would."""
    if not study.is_finished:
        raise TuningError("not_ended", "only a study that has ended can be archived")
    if study.archived_at is not None:
        raise TuningError("already_archived", "the study is already archived")


def restore_study(study: Study) -> None:
    """Put an archived study back on the lists. Raises TuningError."""
    with _changing(study, check_can_restore) as row:
        _set(row, archived_at=None)


def check_can_restore(study: Study) -> None:
    """Raise TuningError where `restore_study` would."""
    if study.archived_at is None:
        raise TuningError("not_archived", "the study is not archived")


def _nothing_left(study: Study) -> str:
    if study.slots.filter(purpose=SlotPurpose.BLOCK).exists():
        return "every candidate has left the race, so there is nothing left to measure"
    return "the search took no config into a race, so there is nothing to measure again"


def start_ablation(study: Study, *, by: str = "") -> None:
    """Measure the confirmed winner without some of its lines, then conclude the study again.

    The study's minutes do not limit that; the number of runs is limited (MAX_ABLATION_RUNS).

    Raises TuningError: not_finished, nothing_confirmed, nothing_left, device_retired,
    host_retired.
    """
    check_can_start_ablation(study)  # it may build the document, which takes too long for a lock
    with _changing(study, _check_winner_is_known) as row:
        _reopen(row, ablates=True, ablation_without_end=True, extended_by=0)
        note_action(row, EventKind.ABLATED, by=by)


def _reopen(study: Study, **columns: Any) -> None:
    _set(
        study,
        state=StudyState.RUNNING,
        finished_at=None,
        extended_after=last_order(study),
        resumed_at=Now(),
        **columns,
    )


def check_can_start_ablation(study: Study) -> None:
    """Raise TuningError where `start_ablation` would."""
    _check_winner_is_known(study)
    check_none_retired(study)
    confirmed = study.recommendations.filter(confirmation=ConfirmationState.CONFIRMED)
    if study.concluded_at is not None or not confirmed.exists():
        raise TuningError(
            "nothing_confirmed",
            "only a confirmed winner can be tested line by line, in a study that was not "
            "concluded early",
        )
    if not document_of(study).can_be_ablated:
        raise TuningError("nothing_left", "every line of the winner has been tested")


def _check_winner_is_known(study: Study) -> None:
    if study.state != StudyState.FINISHED:
        raise TuningError("not_finished", "only the winner of a finished study can be tested")
