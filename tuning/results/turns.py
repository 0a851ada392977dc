"""The order in which a host's unfinished studies get their turn."""

from __future__ import annotations

from django.db.models import Case, DateTimeField, OrderBy, Value, When
from django.db.models.functions import Coalesce

from benchmarks.jobs.heartbeat import CANCELLED
from tuning.models import StudyState


def in_turn() -> tuple[Case, OrderBy, str]:
    """For `order_by`: those to be closed, then what has begun, then what waits.

    One that was resumed or extended continues after those that are running, so that none of their
    blocks is interrupted. One whose worker has not begun to prepare it comes after them.
    """
    return (
        Case(
            When(stop_request=CANCELLED, then=0),
            When(state=StudyState.QUEUED, then=2),
            default=1,
        ),
        Case(
            # By their numbers: web servers write `created_at` by clocks of their own.
            When(state=StudyState.QUEUED, then=Value(None)),
            default=Coalesce("resumed_at", "started_at"),
            output_field=DateTimeField(),
        ).asc(nulls_last=True),
        "id",
    )
