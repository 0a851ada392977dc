"""Ends a study early with an answer from what was measured.

A search stops screening; its best few race for a few blocks and the winner is confirmed. Any other
study confirms what its blocks have found. The wish is a column, so that a crash forgets nothing.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from benchmarks.jobs import heartbeat
from benchmarks.models import Run, RunState
from tuning.errors import TuningError
from tuning.models import EventKind, Study
from tuning.strategy.protocol import NOT_FOR_AN_ANSWER, Purpose
from tuning.studies.events import note_action
from tuning.studies.revision import bump
from tuning.studies.scheduler import advance_host


def conclude_study(study: Study, *, by: str = "") -> None:
    """Measure only what the study needs for an answer, then end it.

    The current run, or the trial start of new configs, is finished first. A paused study stays
    paused and does this when it is resumed.

    Raises TuningError: already_ended, being_cancelled, already_concluding, nothing_measured.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        check_can_conclude(locked)
        bump([study.pk])
        locked.concluded_at, locked.extended_by = timezone.now(), 0
        locked.save(update_fields=["concluded_at", "extended_by"])
        note_action(locked, EventKind.CONCLUDED, by=by)
        _take_out(locked)
    study.refresh_from_db()
    advance_host(study.host_id)


def _take_out(study: Study) -> None:
    """Delete the queued runs that the answer does not need; none of them has begun.

    Of a search those that screen: the blocks of its race are few. Of any other study the rest of
    its block, but not what is measured again for earlier ones. No winner is taken apart further.
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


def check_can_conclude(study: Study) -> None:
    """Raise TuningError where `conclude_study` would."""
    if study.is_finished:
        raise TuningError("already_ended", "the study has ended")
    if study.stop_request == heartbeat.CANCELLED:
        raise TuningError("being_cancelled", "the study is being cancelled")
    if study.is_concluding:
        raise TuningError("already_concluding", "the study is already being concluded")
    ok = study.slots.filter(run__state=RunState.OK)
    if not ok.filter(candidate__is_baseline=True).exists():
        lacks = "the baseline"
    elif not ok.filter(candidate__is_baseline=False).exists():
        lacks = "any other config"
    else:
        return
    raise TuningError(
        "nothing_measured",
        f"there is no result of {lacks} yet, so there is nothing to conclude; a study can be "
        "cancelled at any time",
    )
