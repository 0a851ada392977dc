"""Finds what died: lost runs, abandoned preparations, messages that never arrived."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.models import Host, Run, RunState
from benchmarks.services import heartbeat
from benchmarks.services.claims import is_dead
from tuning.models import ACTIVE_STUDY_STATES, Slot, Study, StudyState
from tuning.services.dispatch import advance_host, end_study

logger = logging.getLogger(__name__)

PREPARE_ATTEMPTS = 2


def sweep_host(host_id: int) -> None:
    """Mark what was lost, queue it again, and take the host's next step. Safe to repeat."""
    Host.objects.filter(pk=host_id).update(worker_seen_at=timezone.now())
    for run in Run.objects.filter(host_id=host_id, state=RunState.RUNNING):
        if _is_abandoned(run.claimed_by, run.heartbeat_at):
            _lose(run)
    for study in Study.objects.filter(host_id=host_id, state=StudyState.PREPARING).exclude(
        claimed_by=""
    ):
        if _is_abandoned(study.claimed_by, study.heartbeat_at):
            _release(study)
    for slot in _interrupted_slots(host_id):
        _retry(slot)
    advance_host(host_id)


def request_stop(host_id: int) -> None:
    """The worker is shutting down: ask what runs on this host to end within seconds."""
    stop = heartbeat.WORKER_STOPPING
    Run.objects.filter(host_id=host_id, state=RunState.RUNNING, stop_request="").update(
        stop_request=stop
    )
    Study.objects.filter(host_id=host_id, state=StudyState.PREPARING, stop_request="").exclude(
        claimed_by=""
    ).update(stop_request=stop)


def _is_abandoned(claim: str, heard: object) -> bool:
    limit = timezone.now() - timedelta(seconds=settings.LOST_AFTER_SECONDS)
    return is_dead(claim) or heard is None or heard < limit  # type: ignore[operator]


def _lose(run: Run) -> None:
    lost = Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
        state=RunState.LOST,
        finished_at=timezone.now(),
        step="",
        reason=f"the worker died while {run.step or 'starting'}",
    )
    if lost:
        logger.warning("run %s is lost: its worker died", run.pk)


def _release(study: Study) -> None:
    """Let the dataset be loaded again, but not for ever: what killed one worker kills the next."""
    if study.prepare_attempts + 1 >= PREPARE_ATTEMPTS:
        reason = "the worker died twice while it loaded the dataset"
        end_study(study, StudyState.FAILED, "lost", reason)
        return
    Study.objects.filter(pk=study.pk, claimed_by=study.claimed_by).update(
        claimed_by="",
        stop_request="" if study.stop_request == heartbeat.WORKER_STOPPING else study.stop_request,
        prepare_attempts=study.prepare_attempts + 1,
        preparing_fraction=0,
    )


def _interrupted_slots(host_id: int) -> QuerySet[Slot]:
    """Slots of unfinished studies whose newest run ended because of the worker, not the config."""
    return Slot.objects.filter(
        study__host_id=host_id,
        study__state__in=ACTIVE_STUDY_STATES,
        study__stop_request="",
        run__state__in=[RunState.LOST, RunState.CANCELLED],
    ).select_related("run", "run__retry_of")


def _retry(slot: Slot) -> None:
    """A retry is a new run that points to the old one; a lost run is retried a bounded time."""
    old = slot.run
    if old.state == RunState.LOST and _times_lost(old) > settings.LOST_RUN_RETRIES:
        return
    with transaction.atomic():
        new = Run.objects.create(
            host=old.host,
            device=old.device,
            server=old.server,
            workload=old.workload,
            config=old.config,
            seed=old.seed,
            retry_of=old,
        )
        # Two sweeps at once must not both retry: only the one that still sees the old run wins.
        if not Slot.objects.filter(pk=slot.pk, run=old).update(run=new):
            transaction.set_rollback(True)


def _times_lost(run: Run | None) -> int:
    count = 0
    while run is not None:
        count += run.state == RunState.LOST
        run = run.retry_of
    return count
