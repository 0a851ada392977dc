"""Cancels jobs of any kind: what waits ends at once, what runs is asked to end."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.models import JobState


def cancel_jobs(rows: QuerySet[Any], reason: str = "cancelled by the user") -> None:
    """Cancel those of these rows that wait or run; the running ones end within seconds.

    The waiting ones first: one that is claimed at the same moment is running at the second step.
    """
    cancel_waiting(rows, reason)
    rows.filter(state=JobState.RUNNING).update(stop_request=CANCELLED)


def cancel_waiting(rows: QuerySet[Any], reason: str) -> None:
    """Cancel those of these rows that wait: they never start."""
    rows.filter(state=JobState.QUEUED).update(
        state=JobState.CANCELLED, finished_at=Now(), reason=reason
    )
