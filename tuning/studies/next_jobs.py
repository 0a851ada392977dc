"""What a host has to do beside its studies: inspections, loads for other hosts, probes."""

from __future__ import annotations

from functools import cache
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
from benchmarks.ready_query import ANY, ReadyQuery, in_the_text
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
    """In one query: nearly always a run is measured, and there is nothing else."""
    return next((Seen(*row) for row in _seen().rows(host_id)), Seen(*[False] * 4))


@cache
def _seen() -> ReadyQuery:
    measured = Run.objects.filter(host=ANY, state=in_the_text(RunState.RUNNING))
    active = map(in_the_text, ACTIVE_STUDY_STATES)
    cancelled = Study.objects.filter(host=ANY, state__in=active)
    asked = (
        *(_active(Inspection), _active(LoadJob)),
        measured.filter(slot__study__state=StudyState.RUNNING),
        cancelled.filter(stop_request=CANCELLED),
    )
    columns = map(Exists, asked)  # those of Seen
    return ReadyQuery.of(Host.objects.filter(pk=ANY).order_by().values_list(*columns))


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
    if not _probes().rows(host_id):
        return None
    there = Probe.objects.filter(device__host_id=host_id).select_related("device__host")
    return _next(there, Q(device__host__drained_at=None))


@cache
def _probes() -> ReadyQuery:
    """Nearly always there is none, and to ask for the first takes ten times as long."""
    return ReadyQuery.of(_active(Probe, "device__host").order_by().values_list("pk")[:1])


def _active(model: type[JobRow], host: str = "host") -> QuerySet[JobRow]:
    return model._default_manager.filter(**{host: ANY, "state__in": ACTIVE_JOB_STATES})


def _next(rows: QuerySet[RowT], may_begin: Q) -> RowT | None:
    active = rows.filter(Q(state=JobState.RUNNING) | Q(state=JobState.QUEUED) & may_begin)
    running_first = Case(When(state=JobState.RUNNING, then=0), default=1)
    return active.order_by(running_first, "pk").first()
