"""The jobs that a host may do next: studies in their order, inspections, loads, probes."""

from __future__ import annotations

from collections.abc import Iterable
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
from tuning.studies.waiting import has_load_host_away

# The columns of a study by which it gets its turn; the host's inventory is long.
_OF_A_TURN = (
    *("state", "paused_at", "stop_request", "resumed_at", "started_at", "claimed_by", "search"),
    *("crash_tests", "runs_to_queue", "host__name", "host__drained_at"),
)

RowT = TypeVar("RowT", bound=JobRow)


class Seen(NamedTuple):
    """Whether a host has inspections, loads, probes and studies that have not ended.

    measured: a run of a study is measured now. cancelled: a user cancelled one of the studies.
    """

    inspection: bool
    load: bool
    probe: bool
    study: bool
    measured: bool
    cancelled: bool


def seen_on(host_id: int) -> Seen:
    """Return what there is on the host, in one query."""
    jobs = {"host": host_id, "state__in": ACTIVE_JOB_STATES}
    measured = Run.objects.filter(host=host_id, state=RunState.RUNNING)
    active = Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES)
    host = Host.objects.filter(pk=host_id).values_list(
        Exists(Inspection.objects.filter(**jobs)),
        Exists(LoadJob.objects.filter(**jobs)),
        Exists(Probe.objects.filter(device__host=host_id, state__in=ACTIVE_JOB_STATES)),
        Exists(active),
        Exists(measured.filter(slot__study__state=StudyState.RUNNING)),
        Exists(active.filter(stop_request=CANCELLED)),
    )
    return Seen(*(host.first() or [False] * 6))


def waiting_studies(host_id: int) -> list[tuple[Study, bool]]:
    """Return the host's studies that have not ended, in the order in which they get their turn.

    Each comes with whether a load host of it takes no work.
    """
    active = Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES)
    rows = active.select_related("host").only(*_OF_A_TURN).order_by()
    found = rows.annotate(load_host_away=has_load_host_away())
    return sorted(((one, one.load_host_away) for one in found), key=lambda pair: pair[0].turn)


class OpenRun(NamedTuple):
    """A run of a study that is queued, running or may have to be measured again."""

    state: str
    run: int
    retry_of: int | None
    block: int
    device: int
    workload: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Its block with the device and the workload."""
        return self.block, self.device, self.workload


def open_runs(study: Study, states: Iterable[str]) -> list[OpenRun]:
    """Return the runs in these states, in their order."""
    slots = study.slots.filter(run__state__in=states).order_by("order")
    columns = "run__state", "run", "run__retry_of", "block", "device", "workload"
    return [OpenRun(*row) for row in slots.values_list(*columns)]


def next_run(runs: Iterable[OpenRun]) -> int | None:
    """Return the key of the queued run that is measured next; None if none is queued.

    Retries come last in their block, when the disturbance may be over.
    """
    queued = [one for one in runs if one.state == RunState.QUEUED]
    together = [one for one in queued if one.place == queued[0].place]
    return min(together, key=lambda one: one.retry_of is not None).run if together else None


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
