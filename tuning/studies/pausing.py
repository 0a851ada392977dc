"""Pauses studies and resumes them.

A pause is not a state of its own: a paused study keeps its state and its rows and continues from
there. The current run, or the loading of a dataset, is finished first; then the host continues
with its next study.
"""

from __future__ import annotations

from django.db.models import F
from django.db.models.functions import Now

from benchmarks.jobs import heartbeat
from tuning.errors import TuningError
from tuning.models import ACTIVE_STUDY_STATES, EventKind, Study
from tuning.studies.events import note_action
from tuning.studies.named_devices import check_none_retired
from tuning.studies.pause_columns import pause_columns, when_by_and_why
from tuning.studies.scheduler import advance_host


def pause_study(study: Study, *, by: str = "", reason: str = "") -> None:
    """Start nothing more of the study until it is resumed. `by` is the user, `reason` the reason.

    Raises TuningError: already_paused, already_ended, being_cancelled.
    """
    there = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES, paused_at=None)
    there = there.exclude(stop_request=heartbeat.CANCELLED)
    is_new = there.update(**pause_columns(by, reason), revision=F("revision") + 1)
    study.refresh_from_db()
    if not is_new:
        check_can_pause(study)
    note_action(study, EventKind.PAUSED, by=by, reason=reason)
    advance_host(study.host_id)


def resume_study(study: Study, *, by: str = "") -> None:
    """Resume a paused study: at once, or after the study that is running now.

    Raises TuningError: not_paused, already_ended, device_retired.
    """
    check_can_resume(study)
    there = Study.objects.filter(
        pk=study.pk, state__in=ACTIVE_STUDY_STATES, paused_at__isnull=False
    )
    was_paused = there.update(
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


def check_can_pause(study: Study) -> None:
    """Raise TuningError where `pause_study` would."""
    if study.is_finished:
        raise TuningError("already_ended", "the study has ended")
    if study.stop_request == heartbeat.CANCELLED:
        raise TuningError("being_cancelled", "the study is being cancelled")
    if study.is_paused:
        raise TuningError("already_paused", "the study is already paused")


def check_can_resume(study: Study) -> None:
    """Raise TuningError where `resume_study` would."""
    if study.is_finished:
        raise TuningError("already_ended", "the study has ended")
    if not study.is_paused:
        raise TuningError("not_paused", "the study is not paused")
    check_none_retired(study)


def pause_text(study: Study) -> str:
    """When, by whom and why a study was paused, in one line without a full stop."""
    if study.paused_at is None:
        return ""
    since = when_by_and_why(study.paused_at, study.paused_by, study.pause_reason)
    return f"paused since {since}"
