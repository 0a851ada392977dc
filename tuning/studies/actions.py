"""Keeps what somebody did to a study, for the list of its events."""

from __future__ import annotations

from tuning.models import Study, StudyAction
from tuning.studies.pause_columns import by_and_reason


def keep_action(study: Study, kind: StudyAction.Kind, *, by: str = "", reason: str = "") -> None:
    """To be called when it is done; both texts become one line of fitting length."""
    done_by, why = by_and_reason(by, reason)
    StudyAction.objects.create(study=study, kind=kind, by=done_by, reason=why)
