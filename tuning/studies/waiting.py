"""Why a study or a host does nothing now: sentences, columns and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from benchmarks.jobs.presence import is_silent, seen, serving_hosts
from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.models import Study
from tuning.requests.study import MAX_PAUSE_REASON
from tuning.studies.current_jobs import current_jobs

# The length of a column.
MAX_PAUSED_BY = 150
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
    """Return the condition that the study's load host is silent or drained: then it waits."""
    driving = Host.objects.filter(driven_workloads__studies=OuterRef("pk"))
    return Exists(driving.exclude(pk__in=serving_hosts()))


def load_host_of(study: Study) -> Host | None:
    """The host that drives the study; None if the driver runs beside the server."""
    return Host.objects.filter(driven_workloads__studies=study).first()


def driven_by(host: Host) -> QuerySet[Study, int]:
    """The keys of the studies that the host drives for others."""
    return Study.objects.filter(workloads__load_host=host).values_list("pk", flat=True)


def waiting_text(study: Study) -> str:
    """Return why the study's load host does not drive, in one line; "" if it does."""
    host = load_host_of(study)
    if host is None or serving_hosts().filter(pk=host.pk).exists():
        return ""
    if host.is_drained:
        return f"load host {host} is drained"
    return f"load host {host} is not heard of; the study goes on when its worker is back"


def pause_columns(by: str, reason: str) -> dict[str, Any]:
    """Return the columns of a study that is paused now."""
    paused_by, pause_reason = by_and_reason(by, reason)
    return {
        "paused_at": timezone.now(),
        "paused_by": paused_by,
        "pause_reason": pause_reason,
    }


def by_and_reason(by: str, reason: str) -> tuple[str, str]:
    """Return both texts, each as one line that fits its column."""
    return _one_line(by)[:MAX_PAUSED_BY], _one_line(reason)[:MAX_PAUSE_REASON]


def pause_text(study: Study) -> str:
    """Return when, by whom and why a study was paused, without a full stop; "" if it is not."""
    since = _when_by_and_why(study.paused_at, study.paused_by, study.pause_reason)
    return since and f"paused since {since}"


def drain_text(host: Host) -> str:
    """Return when, by whom and why a host was drained, without a full stop; "" if it is not."""
    since = _when_by_and_why(host.drained_at, host.drained_by, host.drain_reason)
    return since and f"host {host} is drained since {since}"


def retire_text(host: Host) -> str:
    """Return when, by whom and why a host was retired, without a full stop; "" if it is not."""
    on = _when_by_and_why(host.retired_at, host.retired_by, host.retire_reason)
    return on and f"host {host} was retired on {on}"


def silence_text(host: Host) -> str:
    """Return since when the host is silent, without a full stop."""
    if host.worker_seen_at is None:
        return f"host {host} has never been seen"
    since = timezone.localtime(host.worker_seen_at)
    return f"host {host} has not been seen since {since:%Y-%m-%d %H:%M:%S %Z}"


def absence_text(host: Host) -> str:
    """Return why nothing begins on the host, if its worker is gone or takes no work; else "".

    A host that was never seen is not missed: its first worker is on its way.
    """
    if host.worker_seen_at is not None and is_silent(host.pk):
        return silence_text(host)
    return f"host {host} takes no work: {host.idle_reason}" if host.idle_reason else ""


def check_not_retired(host: Host) -> None:
    """Raise TuningError, host_retired, for a retired host."""
    if host.is_retired:
        raise TuningError("host_retired", retire_text(host), field="host")


def check_none_retired(study: Study) -> None:
    """Raise TuningError, device_retired or host_retired, if no further run of the study can be."""
    check_not_retired(study.host)
    if load_host := load_host_of(study):
        check_not_retired(load_host)
    if gone := study.devices.exclude(retired_at=None).first():
        raise TuningError("device_retired", f"{gone}: another device is in its place now")


def hold_in_use(host: Host) -> None:
    """Keep the host from being retired until the end of this transaction.

    A function that stores a study, probe or inspection calls this in the same transaction: a host
    that retires afterwards finds the row and ends it. Raises TuningError like `check_not_retired`.
    """
    check_not_retired(Host.objects.select_for_update(no_key=True).get(pk=host.pk))


def _when_by_and_why(at: datetime | None, by: str, reason: str) -> str:
    """Return such as `2025-01-31 10:00 UTC by ann: a new kernel`; "" without a time."""
    if at is None:
        return ""
    who = f" by {by}" if by else ""
    why = f": {reason}" if reason else ""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M %Z}{who}{why}"


def _one_line(text: str) -> str:
    """Return the text without line breaks, repeated blanks and what cannot be printed."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
