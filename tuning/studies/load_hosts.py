"""Load hosts of studies: which hosts drive a study, and when the study waits for them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, QuerySet

from benchmarks.jobs.presence import serving_hosts
from benchmarks.models import Host, Workload
from tuning.models import Study


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
    """What is wrong with the study's load hosts, in one line; "" if nothing is."""
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
