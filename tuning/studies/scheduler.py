"""Decides what a host does next and wakes its worker up.

`advance_host` may be called at any time, by anyone, any number of times: it reads the rows, takes
the next step by compare-and-set and sends a message that may get lost or arrive twice.
"""

from __future__ import annotations

import logging

from celery import current_app
from django.db import DatabaseError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from benchmarks.jobs import heartbeat
from benchmarks.models import Host, Probe, ProbeState, Run, RunState
from tuning.models import ACTIVE_STUDY_STATES, Slot, Study, StudyState
from tuning.results.recommendation import NothingToRecommend, store_recommendations
from tuning.studies.continuation import continue_study
from tuning.studies.retries import retry_interrupted

logger = logging.getLogger(__name__)

EXECUTE = "tuning.execute"
PREPARE = "tuning.prepare"
PROBE = "benchmarks.probe"


def advance_host(host_id: int) -> None:
    """Take the next step of the host's oldest unfinished study; the others wait their turn.

    A probe goes before a study that has not begun, and waits for one that has: what it does to a
    device's caches would be seen in the next run.
    """
    while study := _oldest_active(host_id):
        if study.state == StudyState.QUEUED and _send_probe(host_id):
            return
        if not _advance(study):
            return
    _send_probe(host_id)


def _send_probe(host_id: int) -> bool:
    """Wake the worker for the host's oldest probe; True while there is one."""
    there = Probe.objects.filter(device__host_id=host_id).select_related("device__host")
    if there.filter(state=ProbeState.RUNNING).exists():
        return True
    probe = there.filter(state=ProbeState.QUEUED).order_by("pk").first()
    if probe is None:
        return False
    _send(PROBE, probe.pk, probe.device.host)
    return True


def _oldest_active(host_id: int) -> Study | None:
    return (
        Study.objects.filter(host_id=host_id, state__in=ACTIVE_STUDY_STATES)
        .select_related("host")
        .order_by("id")
        .first()
    )


def _advance(study: Study) -> bool:
    """One step; True when the study ended by it and the next study may begin."""
    if study.stop_request == heartbeat.CANCELLED and not _is_busy(study):
        return end_study(study, StudyState.CANCELLED, "cancelled", "cancelled by the user")
    if study.state == StudyState.QUEUED:
        begun = Study.objects.filter(pk=study.pk, state=StudyState.QUEUED).update(
            state=StudyState.PREPARING, started_at=timezone.now()
        )
        if begun:
            _send(PREPARE, study.pk, study.host)
    elif study.state == StudyState.PREPARING:
        if not study.claimed_by:
            _send(PREPARE, study.pk, study.host)
    elif not _is_busy(study):
        try:
            return _take_turn(study)
        except DatabaseError:
            raise
        except Exception as bug:
            # Were the study left as it is, no other one of this host would ever have its turn.
            logger.exception("study %s: internal error", study.pk)
            text = f"{type(bug).__name__}: {bug}"
            return end_study(study, StudyState.FAILED, "internal_error", text)
    return False


def _take_turn(study: Study) -> bool:
    """Send the next run, or conclude; True when the study ended by it."""
    # First of all: a study whose last run was interrupted is not at its end.
    retry_interrupted(study)
    slot = _next_slot(study)
    if slot is None and continue_study(study):
        slot = _next_slot(study)
    if slot is None:
        return _conclude(study)
    _send(EXECUTE, slot.run_id, study.host)
    return False


def _is_busy(study: Study) -> bool:
    if study.state == StudyState.PREPARING:
        return bool(study.claimed_by)
    return Run.objects.filter(slot__study=study, state=RunState.RUNNING).exists()


def _next_slot(study: Study) -> Slot | None:
    """The first in order; what is measured again comes last in its block, for whatever disturbed
    it may be over by then.
    """
    queued = study.slots.filter(run__state=RunState.QUEUED).order_by("order")
    slot = queued.first()
    if slot is None or slot.run.retry_of_id is None:
        return slot
    beside = queued.filter(block=slot.block, device=slot.device_id, workload=slot.workload_id)
    return beside.filter(run__retry_of=None).first() or slot


def _conclude(study: Study) -> bool:
    try:
        with transaction.atomic():
            store_recommendations(study)
            return end_study(study, StudyState.FINISHED)
    except NothingToRecommend as reason:
        return end_study(study, StudyState.FAILED, reason.code, str(reason))


def end_study(
    study: Study, state: StudyState, code: str = "", reason: str = "", log_tail: str = ""
) -> bool:
    """Close the study and whatever of it is still queued; True when this call did it."""
    now = timezone.now()
    with transaction.atomic():
        ended = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES).update(
            state=state, reason_code=code, reason=reason, log_tail=log_tail, finished_at=now
        )
        Run.objects.filter(slot__study=study, state=RunState.QUEUED).update(
            state=RunState.CANCELLED, finished_at=now, reason=reason
        )
    return ended == 1


def _send(task: str, pk: int, host: Host) -> None:
    try:
        current_app.send_task(task, args=[pk], queue=host.queue)
    except (OperationalError, OSError) as error:
        # The row says what is to be done; the sweeper sends again once Redis is back.
        logger.warning("Redis does not answer, %s(%s) is sent later: %s", task, pk, error)
