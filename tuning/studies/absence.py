"""Hosts whose worker is gone: what is cancelled there ends, and nothing waits for ever.

A worker that is cut off for a while keeps its run: nothing of a silent host is closed but what a
user cancelled, until it has been silent for so long that its studies end.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Coalesce, Greatest, Now

from benchmarks.jobs.heartbeat import CANCELLED, cancel_jobs
from benchmarks.jobs.presence import silent_hosts
from benchmarks.jobs.sweep import close_cancelled
from benchmarks.models import CrashTest, Run
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.studies.jobs import KINDS
from tuning.studies.scheduler import advance_host, end_study
from tuning.studies.waiting import silence_text

logger = logging.getLogger(__name__)

#: After its start a process ends no study for this long: the workers may be about to start too.
GRACE_SECONDS = 600.0


def look_after_hosts(since_start_s: float) -> None:
    """Close what was cancelled, end the studies of hosts that are gone. Raises Error.

    `since_start_s`: seconds since this process began.
    """
    close_what_was_cancelled()
    if since_start_s > GRACE_SECONDS:
        end_studies_of_gone_hosts()


def close_what_was_cancelled(host_id: int | None = None) -> None:
    """End what a user cancelled on that host, or on any, if its worker is gone."""
    hosts = silent_hosts() if host_id is None else silent_hosts().filter(pk=host_id)
    if not hosts.exists():  # as nearly always: all else takes twenty times as long
        return
    close_cancelled(KINDS, hosts)
    cancelled = Study.objects.filter(state__in=ACTIVE_STUDY_STATES, stop_request=CANCELLED)
    for pk in set(cancelled.filter(host__in=hosts).values_list("host", flat=True)):
        advance_host(pk)


def end_studies_of_gone_hosts() -> None:
    """End the studies whose host has been silent for ADVISOR_HOST_GONE_HOURS; 0: they wait.

    A paused one goes on waiting for its user.
    """
    if not settings.HOST_GONE_HOURS:
        return
    gone = Study.objects.filter(state__in=ACTIVE_STUDY_STATES, paused_at=None)
    gone = gone.filter(host__in=silent_hosts()).select_related("host")
    limit = Now() - timedelta(hours=settings.HOST_GONE_HOURS)
    waits_since = Greatest(
        "created_at",
        Coalesce("resumed_at", "created_at"),
        Coalesce("host__worker_seen_at", "created_at"),
    )
    waited = list(gone.annotate(waits_since=waits_since).filter(waits_since__lt=limit))
    for study in waited:
        reason = f"{silence_text(study.host)}: its worker is gone"
        logger.warning("study %s ends: %s", study.pk, reason)
        stop_study(study, StudyState.FAILED, "host_gone", reason)
    if waited:
        close_what_was_cancelled()


def stop_study(study: Study, state: StudyState, code: str, reason: str) -> None:
    """End the study now, with that reason; what it is measuring is stopped."""
    end_study(study, state, code, reason)
    cancel_jobs(Run.objects.filter(slot__study=study), reason)
    cancel_jobs(CrashTest.objects.filter(slot__study=study), reason)
