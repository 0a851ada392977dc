"""Studies over several hosts: one request, a study on each host, changed together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tuning.errors import TuningError
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyGroup
from tuning.studies.lifecycle import cancel_study
from tuning.studies.pausing import pause_study, resume_study


def pause_group(group: StudyGroup, *, by: str = "", reason: str = "") -> None:
    """Pause all its studies that can be. Raises the TuningError of the first if none can."""
    _each(group, partial(pause_study, by=by, reason=reason))


def resume_group(group: StudyGroup) -> None:
    """Resume all its studies that are paused. Raises the TuningError of the first if none is."""
    _each(group, resume_study)


def cancel_group(group: StudyGroup) -> None:
    """Cancel all its studies that run. Raises TuningError, already_ended, if none does."""
    _each(group, cancel_study)


def _each(group: StudyGroup, change: Callable[[Study], None]) -> None:
    refused: list[TuningError] = []
    there = group.studies.filter(state__in=ACTIVE_STUDY_STATES).select_related("host")
    studies = list(there.order_by("pk"))
    if not studies:
        raise TuningError("already_ended", "all its studies have ended")
    for study in studies:
        try:
            change(study)
        except TuningError as error:
            refused.append(error)
    if len(refused) == len(studies):
        raise refused[0]
