"""The jobs that a host may do next: studies in their order, inspections, loads, probes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Case, Q, When

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.jobs.kinds import JobKind, RowT
from benchmarks.jobs.loads import LoadKind, is_measured
from benchmarks.models import JobState, Run, RunState
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.studies.waiting import has_load_host_away

# The columns of a study by which it gets its turn; the host's inventory is long.
_OF_A_TURN = (
    *("state", "paused_at", "stop_request", "resumed_at", "started_at", "claimed_by", "search"),
    *("crash_tests", "runs_to_queue", "host__name", "host__drained_at"),
)


def measures_undisturbed(host_id: int) -> bool:
    """Return whether a study's run is measured there and no user cancelled a study meanwhile."""
    active = Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES)
    measured = Run.objects.filter(host=host_id, state=RunState.RUNNING)
    if not measured.filter(slot__study__state=StudyState.RUNNING).exists():
        return False
    return not active.filter(stop_request=CANCELLED).exists()


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


def next_job(kind: JobKind[RowT], host_id: int) -> RowT | None:
    """Return the job of a kind under way, else the oldest that waits and may begin.

    A drained host begins only what does not wait while it is drained.
    """
    host = kind.host
    may_begin = Q(**{f"{host}__retired_at": None})
    if kind.waits_while_drained:
        may_begin &= Q(**{f"{host}__drained_at": None})
    if kind.task == LoadKind.task:  # nobody waits for other loads any more
        may_begin &= is_measured()
    active = Q(state=JobState.RUNNING) | Q(state=JobState.QUEUED) & may_begin
    running_first = Case(When(state=JobState.RUNNING, then=0), default=1)
    there = kind.rows.filter(active, **{host: host_id})
    return there.order_by(running_first, "pk").first()
