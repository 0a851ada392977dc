"""What a host has to do beside its studies: inspections, loads for other hosts, probes."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from django.db.models import Case, Q, QuerySet, When

from benchmarks.jobs.loads import is_measured
from benchmarks.models import ACTIVE_JOB_STATES, Inspection, JobRow, JobState, LoadJob, Probe
from benchmarks.ready_query import ANY, ReadyQuery

RowT = TypeVar("RowT", bound=JobRow)


def next_inspection(host_id: int) -> Inspection | None:
    """The inspection under way, else the oldest that waits and may begin."""
    if not _active(Inspection).rows(host_id):
        return None
    there = Inspection.objects.filter(host_id=host_id).select_related("host")
    return _next(there, Q(host__retired_at=None))


def next_load(host_id: int) -> LoadJob | None:
    """The load that the host drives, else the oldest that waits for it and is still wanted.

    While there is one, nothing of the host's own begins.
    """
    if not _active(LoadJob).rows(host_id):
        return None
    there = LoadJob.objects.filter(host_id=host_id).select_related("host")
    return _next(there, Q(host__drained_at=None) & is_measured())


def next_probe(host_id: int) -> Probe | None:
    """The probe under way, else the oldest that waits and may begin."""
    if not _active(Probe, "device__host").rows(host_id):
        return None
    there = Probe.objects.filter(device__host_id=host_id).select_related("device__host")
    return _next(there, Q(device__host__drained_at=None))


@cache
def _active(model: type[JobRow], host: str = "host") -> ReadyQuery:
    """Whether there is any: nearly always none, and to ask for one takes ten times as long."""
    rows = model._default_manager.filter(**{host: ANY, "state__in": ACTIVE_JOB_STATES})
    return ReadyQuery.of(rows.order_by().values_list("pk")[:1])


def _next(rows: QuerySet[RowT], may_begin: Q) -> RowT | None:
    active = rows.filter(Q(state=JobState.RUNNING) | Q(state=JobState.QUEUED) & may_begin)
    running_first = Case(When(state=JobState.RUNNING, then=0), default=1)
    return active.order_by(running_first, "pk").first()
