"""Studies that wait: their host does something else or nothing, or a load host is away."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet

from benchmarks.jobs.presence import seen, serving_hosts
from benchmarks.models import Host, Workload
from tuning.models import Study
from tuning.studies.current_jobs import current_jobs

_TAKES_NOTHING = (
    Q(drained_at__isnull=False) | ~Q(idle_reason="") | (Q(worker_seen_at__isnull=False) & ~seen())
)


def busy_text(study: Study) -> str:
    """Return what the host does instead of a study that has begun; "" if it does the study."""
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


def has_load_host_away() -> Exists:
    """The condition for a study with a silent or drained load host: it waits, others go on."""
    driving = Host.objects.filter(driven_workloads__studies=OuterRef("pk"))
    return Exists(driving.exclude(pk__in=serving_hosts()))


def load_hosts_of(study: Study) -> list[Host]:
    """The hosts that drive the study; none if the driver runs beside the server."""
    return list(Host.objects.filter(pk__in=study.workloads.values("load_hosts")).order_by("pk"))


def fetch_load_hosts(studies: Iterable[Study]) -> None:
    """Read the load hosts of studies, read with their workloads, in one query or none."""
    Workload.objects.fetch_load_hosts(one for study in studies for one in study.workloads.all())


def driven_by(host: Host) -> QuerySet[Study, int]:
    """The keys of the studies that the host drives for others."""
    return Study.objects.filter(workloads__load_hosts=host).values_list("pk", flat=True)


def waiting_text(study: Study) -> str:
    """Return why the study's load hosts do not drive, in one line; "" if they do."""
    hosts = load_hosts_of(study)
    if not hosts:
        return ""
    serving = set(serving_hosts().filter(pk__in=[host.pk for host in hosts]))
    away = [host for host in hosts if host not in serving]
    drained = [f"load host {host} is drained" for host in away if host.is_drained]
    silent = [f"load host {host} is not heard of" for host in away if not host.is_drained]
    if silent:
        silent[-1] += "; the study goes on when its worker is back"
    return ", ".join([*drained, *silent])
