"""What a host has to do beside its studies: inspections, loads for other hosts, probes."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from django.db.models import Case, Exists, Q, QuerySet, When

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.jobs.loads import is_measured
from benchmarks.models import (
    ACTIVE_JOB_STATES,
    Host,
    Inspection,
    JobRow,
    JobState,
    LoadJob,
    Probe,
    Run,
    RunState,
)
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState

RowT = TypeVar("RowT", bound=JobRow)


class Seen(NamedTuple):
    """Whether a host has an inspection or a load under way or waiting, whether a run of a study is
    measured there, and whether a user cancelled one of its studies that has not ended.
    """

    inspection: bool
    load: bool
    measured: bool
    cancelled: bool


def seen_on(host_id: int) -> Seen:
    """In one query."""
    jobs = {"host": host_id, "state__in": ACTIVE_JOB_STATES}
    measured = Run.objects.filter(host=host_id, state=RunState.RUNNING)
    active = Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES)
    host = Host.objects.filter(pk=host_id).values_list(
        Exists(Inspection.objects.filter(**jobs)),
        Exists(LoadJob.objects.filter(**jobs)),
        Exists(measured.filter(slot__study__state=StudyState.RUNNING)),
        Exists(active.filter(stop_request=CANCELLED)),
    )
    return Seen(*(host.first() or [False] * 4))


def next_inspection(host_id: int) -> Inspection | None:
    """The inspection under way, else the oldest that waits and may begin."""
    there = Inspection.objects.filter(host_id=host_id).select_related("host")
    return _next(there, Q(host__retired_at=None))


def next_load(host_id: int) -> LoadJob | None:
    """The load that the host drives, else the oldest that waits for it and is still wanted.

    While there is one, nothing of the host's own begins.
    """
    there = LoadJob.objects.filter(host_id=host_id).select_related("host")
    return _next(there, Q(host__drained_at=None) & is_measured())


def next_probe(host_id: int) -> Probe | None:
    """The probe under way, else the oldest that waits and may begin."""
    there = Probe.objects.filter(device__host_id=host_id).select_related("device__host")
    return _next(there, Q(device__host__drained_at=None))


def _next(rows: QuerySet[RowT], may_begin: Q) -> RowT | None:
    active = rows.filter(Q(state=JobState.RUNNING) | Q(state=JobState.QUEUED) & may_begin)
    running_first = Case(When(state=JobState.RUNNING, then=0), default=1)
    return active.order_by(running_first, "pk").first()
