"""Finds what died: lost runs, abandoned preparations, messages that never arrived."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from benchmarks.jobs import heartbeat
from benchmarks.jobs.claims import is_dead
from benchmarks.models import Host, Probe, ProbeState, Run, RunState
from tuning.models import Study, StudyState
from tuning.studies.scheduler import advance_host, end_study

logger = logging.getLogger(__name__)

PREPARE_ATTEMPTS = 2


def sweep_host(host_id: int) -> None:
    """Mark what was lost and take the host's next step, which queues it again. Safe to repeat."""
    Host.objects.filter(pk=host_id).update(worker_seen_at=timezone.now())
    for run in Run.objects.filter(host_id=host_id, state=RunState.RUNNING):
        if _is_abandoned(run.claimed_by, run.heartbeat_at):
            _lose(run)
    for study in Study.objects.filter(host_id=host_id, state=StudyState.PREPARING).exclude(
        claimed_by=""
    ):
        if _is_abandoned(study.claimed_by, study.heartbeat_at):
            _release(study)
    probes = Probe.objects.filter(device__host_id=host_id, state=ProbeState.RUNNING)
    for probe in probes.defer("result"):
        if _is_abandoned(probe.claimed_by, probe.heartbeat_at):
            _lose_probe(probe)
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
    Probe.objects.filter(
        device__host_id=host_id, state=ProbeState.RUNNING, stop_request=""
    ).update(stop_request=stop)


def _is_abandoned(claim: str, heard: datetime | None) -> bool:
    limit = timezone.now() - timedelta(seconds=settings.LOST_AFTER_SECONDS)
    return is_dead(claim) or heard is None or heard < limit


def _lose(run: Run) -> None:
    lost = Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
        state=RunState.LOST,
        finished_at=timezone.now(),
        step="",
        reason=f"the worker died while {run.step or 'starting'}",
    )
    if lost:
        logger.warning("run %s is lost: its worker died", run.pk)


def _lose_probe(probe: Probe) -> None:
    lost = Probe.objects.filter(pk=probe.pk, state=ProbeState.RUNNING).update(
        state=ProbeState.LOST, finished_at=timezone.now(), step="", reason="the worker died"
    )
    if lost:
        logger.warning("probe %s is lost: its worker died", probe.pk)


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
