"""Decides what a host does next and wakes its worker.

`advance_host` may be called at any time, from anywhere, any number of times: it reads the rows,
takes the next step while it holds the study's row, so that no two calls decide at the same time,
and sends a message that may get lost or arrive twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from benchmarks.errors import NotInspected
from benchmarks.jobs import heartbeat
from benchmarks.jobs.cancelling import cancel_waiting
from benchmarks.jobs.claimant import host_lock
from benchmarks.jobs.crash_tests import CrashTestKind
from benchmarks.jobs.engine import AWAY
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.jobs.loads import LoadKind
from benchmarks.jobs.probes import ProbeKind
from benchmarks.jobs.runs import RunKind
from benchmarks.models import CrashTest, Host, JobState, Run, RunState
from tuning.errors import NothingToRecommend, TuningError
from tuning.models import ACTIVE_STUDY_STATES, Slot, Study, StudyState
from tuning.results.answer import store_recommendations
from tuning.results.gate import store_verdict
from tuning.results.knob_importance import learn_knobs
from tuning.results.study_result import StudyResult
from tuning.results.turns import in_turn
from tuning.strategy.protocol import Done
from tuning.studies.continuation import PreparedAnswer, continue_study, think_ahead
from tuning.studies.crash_tests import (
    close_crash_tests,
    next_crash_test,
    waiting_crash_test,
)
from tuning.studies.events import note_end
from tuning.studies.load_hosts import has_load_host_away
from tuning.studies.next_jobs import next_inspection, next_load, next_probe, seen_on
from tuning.studies.preparation import PreparationKind
from tuning.studies.retries import retry_interrupted
from tuning.studies.revision import bump

logger = logging.getLogger(__name__)

EXECUTE = RunKind.task
PREPARE = PreparationKind.task
PROBE = ProbeKind.task
CRASH_TEST = CrashTestKind.task
INSPECT = InspectionKind.task
LOAD = LoadKind.task


@dataclass(frozen=True)
class _Turn:
    """The result of one step of a study: whether it has ended or is paused, and the next job."""

    ended: bool = False
    task: str = ""
    row_id: int = 0


def advance_host(host_id: int) -> None:
    """Take the next step of the host's next study; the others wait.

    A probe goes before a study that has not begun, and waits for one that has: its effect on the
    device's caches would show in the next run. A drained host begins nothing: what was cancelled
    or has nothing left to measure still ends. So does a host that drives another one's server,
    which goes before its own work. An inspection waits for the job that is under way, not for the
    study: after it a run clones gigabytes and starts a server, and what an inspection reads and
    writes does not show beside that.
    """
    seen = seen_on(host_id)
    inspects = seen.inspection and _send_inspection(host_id)
    # While a run is measured, everything waits except studies that a user cancelled.
    if (inspects or seen.measured) and not seen.cancelled:
        return
    is_busy = inspects or (seen.load and _send_load(host_id))
    while study := _next_study(host_id):
        if study.state == StudyState.QUEUED and not is_busy and _send_probe(host_id):
            return
        turn = _take_turn(study)
        if turn.task and not study.host.is_drained and not is_busy:
            _send(turn.task, turn.row_id, study.host)
        if not turn.ended:
            return
    if not is_busy:
        _send_probe(host_id)


def _send_load(host_id: int) -> bool:
    """Wake the worker for the oldest load that another host waits for; True while there is one."""
    load = next_load(host_id)
    if load is None:
        return False
    if load.state == JobState.QUEUED and not is_measuring(host_id):
        _send(LOAD, load.pk, load.host)
    return True


def _send_inspection(host_id: int) -> bool:
    """Wake the worker for the host's oldest inspection; True while there is one to be done now."""
    row = next_inspection(host_id)
    if row is None:
        return False
    if row.state == JobState.RUNNING:
        return True
    if is_measuring(host_id):
        return False
    _send(INSPECT, row.pk, row.host)
    return True


def is_measuring(host_id: int) -> bool:
    """Whether a job is running on the host that must not be disturbed."""
    return any(
        kind.running_on(host_id).exists()
        for kind in (RunKind(), CrashTestKind(), ProbeKind(), PreparationKind(), LoadKind())
    )


def _send_probe(host_id: int) -> bool:
    """Wake the worker for the host's oldest probe; True while there is one."""
    probe = next_probe(host_id)
    if probe is None:
        return False
    if probe.state == JobState.QUEUED:
        _send(PROBE, probe.pk, probe.device.host)
    return True


def _next_study(host_id: int) -> Study | None:
    """The running study, else the oldest that waits.

    A paused study only until its current job is done, and likewise one whose load host is away.
    """
    running = Run.objects.filter(slot__study=OuterRef("pk"), state=RunState.RUNNING)
    crashing = CrashTest.objects.filter(slot__study=OuterRef("pk"), state=JobState.RUNNING)
    is_loading = Q(state=StudyState.PREPARING) & ~Q(claimed_by="")
    return (
        Study.objects.filter(host_id=host_id, state__in=ACTIVE_STUDY_STATES)
        .filter(
            Q(paused_at=None) & (~Q(has_load_host_away()) | Q(stop_request=heartbeat.CANCELLED))
            | is_loading
            | Exists(running)
            | Exists(crashing)
        )
        .select_related("host")
        .defer("host__inventory")  # long, and read only where a search proposes something
        .order_by(*in_turn())
        .first()
    )


def _take_turn(study: Study) -> _Turn:
    """Take one step while no other process can: two at once would act on outdated rows.

    PostgreSQL locks the study's row; on SQLite the transaction begins as the only writer
    (`transaction_mode` in the settings). What takes long is thought over before, by one process:
    a second one would still be at it when the next run is measured.
    """
    if _is_tried_or_killed(study):  # no reason to take its row; nor is a run measured
        return _Turn()
    try:
        with _thinking_alone(study) as is_ours:
            if not is_ours:
                return _Turn()
            prepared = _thought(study)
            if prepared is not None:
                _learn(study, lambda known: learn_knobs(StudyResult(known)))
            with transaction.atomic():
                locked = Study.objects.select_for_update().filter(pk=study.pk).first()
                if locked is None:  # not ours to decide: docs/host-role.sql
                    return _Turn()
                locked.host = study.host
                return _decide(locked, prepared)
    except AWAY:
        raise
    except NotInspected as missing:
        logger.warning("study %s waits: %s", study.pk, missing)
        return _Turn()
    except TuningError as error:
        return _Turn(end_study(study, StudyState.FAILED, error.code, str(error)))
    except Exception as bug:
        # If the study stayed active, no other study of this host would ever run.
        logger.exception("study %s: internal error", study.pk)
        text = f"{type(bug).__name__}: {bug}"
        return _Turn(end_study(study, StudyState.FAILED, "internal_error", text))


def _thought(study: Study) -> PreparedAnswer | None:
    """What a search proposes next, where that could be worked out ahead.

    Nobody holds the rows meanwhile, so they may change under it. What fails then is worked out
    once more by whoever holds them, and only what fails there ends the study.
    """
    try:
        return think_ahead(study)
    except (*AWAY, NotInspected):
        raise
    except Exception:
        logger.exception("study %s: thinking ahead failed, the next step is worked out", study.pk)
        return None


def _learn(study: Study, learn: Callable[[Study], None]) -> None:
    """What pages show of it that takes long: worked out before the next run, not beside it."""
    try:
        learn(study)
        bump([study.pk])
    except AWAY:
        raise
    except Exception:
        logger.exception("study %s: what pages show of it could not be worked out", study.pk)


def _thinking_alone(study: Study) -> AbstractContextManager[bool]:
    """False while another process of this host takes the turn of a study that searches."""
    if study.search is None:
        return nullcontext(True)
    return host_lock(settings.RUN_DIR / "thinking.lock", patience_s=0)


def _decide(study: Study, prepared: PreparedAnswer | None) -> _Turn:
    if study.is_finished:
        return _Turn(ended=True)
    if is_under_way(study):
        return _Turn()
    if study.stop_request == heartbeat.CANCELLED:
        return _Turn(end_study(study, StudyState.CANCELLED, "cancelled", "cancelled by the user"))
    if study.is_paused:
        return _Turn(ended=True)
    if study.state != StudyState.RUNNING and study.host.is_drained:
        return _Turn()
    if study.state == StudyState.QUEUED:
        bump([study.pk])
        Study.objects.filter(pk=study.pk).update(state=StudyState.PREPARING)
    if study.state != StudyState.RUNNING:
        return _Turn(task=PREPARE, row_id=study.pk)
    # Before anything else: a study whose last run was interrupted has not ended.
    retry_interrupted(study)
    if study.paused_at is not None:  # because the disk was full
        return _Turn(ended=True)
    slot = _next_slot(study)
    ends: tuple[Done, ...] = ()
    if slot is None and (test := waiting_crash_test(study)):
        return _Turn(task=CRASH_TEST, row_id=test.pk)
    if slot is None:
        ends = continue_study(study, prepared)
        if study.state == StudyState.PREPARING:  # there are new candidates to be tried
            return _Turn(task=PREPARE, row_id=study.pk)
        slot = _next_slot(study)
    if slot is None and (test := next_crash_test(study)):
        return _Turn(task=CRASH_TEST, row_id=test.pk)
    if slot is None:
        return _Turn(_conclude(study, ends))
    return _Turn(task=EXECUTE, row_id=slot.run_id)


def is_under_way(study: Study) -> bool:
    """Whether a job of the study is running right now; a pause waits for it."""
    return _is_tried_or_killed(study) or study.slots.filter(run__state=RunState.RUNNING).exists()


def _is_tried_or_killed(study: Study) -> bool:
    """Whether it is being prepared, or a server of it is killed under load."""
    if study.state == StudyState.PREPARING:
        return bool(study.claimed_by)
    return (
        study.crash_tests
        and CrashTest.objects.filter(slot__study=study, state=JobState.RUNNING).exists()
    )


def _next_slot(study: Study) -> Slot | None:
    """The first in order. Retries come last in their block, when the disturbance may be over."""
    queued = study.slots.filter(run__state=RunState.QUEUED).order_by("order")
    slot = queued.select_related("run").first()
    if slot is None or slot.run.retry_of_id is None:
        return slot
    beside = queued.filter(block=slot.block, device=slot.device_id, workload=slot.workload_id)
    return beside.filter(run__retry_of=None).first() or slot


def _conclude(study: Study, ends: Iterable[Done]) -> bool:
    try:
        with transaction.atomic():
            if study.gate is not None:
                store_verdict(study)
                return end_study(study, StudyState.FINISHED)
            store_recommendations(study, had_finalists=any(end.unraced for end in ends))
            return end_study(study, StudyState.FINISHED)
    except NothingToRecommend as reason:
        return end_study(study, StudyState.FAILED, reason.code, str(reason))


def end_study(
    study: Study, state: StudyState, code: str = "", reason: str = "", log_tail: str = ""
) -> bool:
    """Close the study and its queued runs; True if this call did it."""
    with transaction.atomic():
        bump([study.pk])
        ended = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES).update(
            state=state, reason_code=code, reason=reason, log_tail=log_tail, finished_at=Now()
        )
        runs = Run.objects.filter(slot__study=study)
        cancel_waiting(runs, reason)
        # A concluded study does not change any more, even if a lost result turns up.
        runs.filter(state=RunState.LOST).update(claimed_by="")
        close_crash_tests(study, reason)
        if ended:
            note_end(Study.objects.get(pk=study.pk))
    return ended == 1


def _send(task: str, pk: int, host: Host) -> None:
    try:
        current_app.send_task(task, args=[pk], queue=host.queue)
    except (OperationalError, OSError) as error:
        # The row says what to do; the host's own sweep sends the message again, when Redis is back
        # or because this host may not send to that one (docs/connections.md).
        logger.warning("no message for %s, which will find %s(%s): %s", host, task, pk, error)
