"""Which studies that have begun wait, because their host does something else or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from benchmarks.jobs.presence import seen
from benchmarks.models import Host
from tuning.models import Study
from tuning.studies.current_jobs import current_jobs
from tuning.studies.load_hosts import has_load_host_away

_TAKES_NOTHING = (
    Q(drained_at__isnull=False) | ~Q(idle_reason="") | (Q(worker_seen_at__isnull=False) & ~seen())
)


def busy_text(study: Study) -> str:
    """What its host does instead of a study that has begun; "" if that is not the case."""
    job = current_jobs([study.host_id]).get(study.host_id) if study.has_begun else None
    if job is None or job.study == study.pk:
        return ""
    does = f"study {job.study_name}" if job.study else job.what
    return f"host {study.host} is busy: {does}"


def mark_waiting(studies: Iterable[Study]) -> None:
    """Set `waits` of all that have begun, in as many queries for many as for one."""
    begun = {one.pk: one for one in studies if one.has_begun and not one.is_paused}
    if not begun:
        return
    hosts = {one.host_id for one in begun.values()}
    jobs = current_jobs(hosts)
    stopped = Host.objects.filter(_TAKES_NOTHING, pk__in=hosts).order_by()
    idle = set(stopped.values_list("pk", flat=True))
    away = Study.objects.filter(has_load_host_away(), pk__in=begun)
    without_load = set(away.order_by().values_list("pk", flat=True))
    for pk, study in begun.items():
        job = jobs.get(study.host_id)
        is_stopped = study.host_id in idle or pk in without_load
        study.waits = is_stopped if job is None else job.study != pk
