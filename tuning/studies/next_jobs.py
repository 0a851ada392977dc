"""The jobs that a host may do next, and the runs that are measured again.

A run that ended because of the worker or the host, not because of the config, is queued again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Case, Exists, Q, When

from benchmarks.jobs.heartbeat import CANCELLED, RowT
from benchmarks.jobs.kinds import JobKind
from benchmarks.models import Host, JobState, LoadJob, Run, RunState
from benchmarks.outcomes import Outcome
from tuning.models import ACTIVE_STUDY_STATES, EventKind, Slot, Study, StudyState
from tuning.results.study_rows import StudyRows
from tuning.strategy.protocol import NOT_FOR_AN_ANSWER
from tuning.studies.budget import StudyBudget
from tuning.studies.events import note_action, note_retry
from tuning.studies.revision import bump
from tuning.studies.rows import queued_run
from tuning.studies.waiting import has_load_host_away, pause_columns

# The columns of a study by which it gets its turn; the host's inventory is long.
_OF_A_TURN = (
    *("state", "paused_at", "stop_request", "resumed_at", "started_at", "claimed_by", "search"),
    *("crash_tests", "runs_to_queue", "host__name", "host__drained_at"),
)


def host_of_a_turn(host_id: int) -> tuple[Host, bool, bool]:
    """Return a host, whether it measures a study's run now, and whether a study is cancelled.

    One query tells all, because every host asks every few seconds. Only studies that have not
    ended count.
    """
    runs = Run.objects.filter(host=host_id, state=RunState.RUNNING)
    active = Study.objects.filter(host=host_id, state__in=ACTIVE_STUDY_STATES)
    hosts = Host.objects.only("name").annotate(
        measures=Exists(runs.filter(slot__study__state=StudyState.RUNNING)),
        cancelled=Exists(active.filter(stop_request=CANCELLED)),
    )
    host = hosts.get(pk=host_id)
    return host, host.measures, host.cancelled


def waiting_studies(host_id: int) -> list[tuple[Study, bool]]:
    """Return the host's studies that have not ended, in the order in which they get their turn.

    Each study comes with a flag: whether its load host takes no work.
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
        """The block with its device and workload."""
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
    active = kind.running | kind.waiting & may_begin
    running_first = Case(When(state=JobState.RUNNING, then=0), default=1)
    there = kind.rows.filter(active, **{host: host_id})
    return there.order_by(running_first, "pk").first()


# A host on which this many runs were disturbed and none succeeded will not become quiet: every
# other run of the study is measured once, but not again.
NEVER_QUIET_RUNS = 6


def retry_interrupted(study: Study) -> None:
    """Queue lost, stopped and disturbed runs of a study again, unless it was cancelled.

    A run that found the disk full is queued again as well, and the study is paused until somebody
    has made room. A load host's full disk is never the config's doing, so that has no bound.

    A retry is a new run that points to the old one and replaces it in the block. What was void
    when the study was concluded stays so, whatever is measured later. Safe to repeat; the caller
    holds the study's row.
    """
    bounds = retry_bounds()
    if study.stop_request == CANCELLED:
        return
    interrupted = study.slots.filter(run__state__in=bounds, order__gt=study.extended_after)
    if study.concluded_at is not None:
        interrupted = interrupted.exclude(purpose__in=NOT_FOR_AN_ANSWER)
    for slot in interrupted.select_related("run", "run__retry_of"):
        state = RunState(slot.run.state)
        bound = bounds[state]
        if bound is not None and _times_ended_so(slot.run) > bound:
            continue
        if state == RunState.DISTURBED and (_is_never_quiet(study) or not _has_time(study, slot)):
            continue
        reason = slot.run.reason
        _retry(slot)
        if state == RunState.DISK_FULL:
            _pause(study, reason)


def retry_bounds() -> dict[RunState, int | None]:
    """How often a run with that outcome is measured again; None is "always".

    A worker that is stopped regularly gives its run back, however often; a run whose worker died
    may be the cause.
    """
    return {
        RunState.LOST: settings.LOST_RUN_RETRIES,
        RunState.DISK_FULL: settings.DISK_FULL_RUN_RETRIES,
        RunState.DISTURBED: settings.DISTURBED_RUN_RETRIES,
        RunState.CANCELLED: None,
    }


def _times_ended_so(run: Run) -> int:
    """How many runs in the chain of retries that ends with `run` ended in its state.

    A run that found the disk of a load host full does not count.
    """
    chain = [run]
    while (older := chain[-1].retry_of) is not None:
        chain.append(older)
    alike = [one for one in chain if one.state == run.state]
    if run.state != RunState.DISK_FULL:
        return len(alike)
    elsewhere = LoadJob.objects.filter(run__in=alike, reason_code=Outcome.DISK_FULL)
    return len(alike) - elsewhere.values("run").distinct().count()


def _is_never_quiet(study: Study) -> bool:
    if study.slots.filter(run__state=RunState.OK).exists():
        return False
    disturbed = (run.state == RunState.DISTURBED for run in StudyRows(study).runs)
    return sum(disturbed) >= NEVER_QUIET_RUNS


def _has_time(study: Study, slot: Slot) -> bool:
    """Whether a study with an end has the time to measure the slot once more."""
    if not study.has_end:
        return True
    budget = StudyBudget(StudyRows(study)).at((slot.device_id, slot.workload_id))
    return budget.may_measure_again(slot.purpose)


def _pause(study: Study, reason: str) -> None:
    if not study.is_paused:
        for column, value in pause_columns("the advisor", reason).items():
            setattr(study, column, value)
        bump([study.pk])
        study.save(update_fields=["paused_at", "paused_by", "pause_reason"])
        note_action(study, EventKind.PAUSED, by=study.paused_by, reason=reason)


def _retry(slot: Slot) -> None:
    old = slot.run
    # Takes the claim away, so that no late result is stored: only the new run may have one.
    ours = Run.objects.filter(pk=old.pk, state=old.state, slot=slot)
    with transaction.atomic():
        bump([slot.study_id])
        if not ours.update(claimed_by=""):
            return
        slot.run = queued_run(
            slot.study, slot.candidate, old.device, old.workload, old.seed, retry_of=old
        )
        slot.run.save()
        slot.save(update_fields=["run"])
        note_retry(slot)
