"""Takes the winner of a finished study apart, which its own time did not suffice for."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from tuning.errors import TuningError
from tuning.models import EventKind, Study, StudyState
from tuning.results.study_result import StudyResult
from tuning.studies.events import note_action
from tuning.studies.named_devices import check_none_retired
from tuning.studies.rows import last_order
from tuning.studies.scheduler import advance_host


def take_apart_study(study: Study, *, by: str = "") -> None:
    """Measure the confirmed winner without some of its lines, then conclude the study again.

    Its minutes no longer limit that, but the number of runs is (MAX_APART_RUNS).

    Raises TuningError: not_finished, nothing_confirmed, nothing_left, device_retired.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        check_can_take_apart(locked)
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


def check_can_take_apart(study: Study) -> None:
    """Raise TuningError where `take_apart_study` would."""
    if study.state != StudyState.FINISHED:
        raise TuningError("not_finished", "only the winner of a finished study can be tested")
    check_none_retired(study)
    if why_not := StudyResult(study).why_not_taken_apart():
        raise why_not
