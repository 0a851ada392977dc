"""Studies that another host drives: which one, and when they wait for it."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from benchmarks.inventory.host import FoundDriver, HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.presence import serving_hosts
from benchmarks.models import Host, Workload
from tuning.models import Study
from tuning.studies.request import BadRequest


def has_load_host_away() -> Exists:
    """The condition for a study whose load host is silent or drained: it waits, others go on."""
    driven = Workload.objects.filter(studies=OuterRef("pk"), load_host__isnull=False)
    return Exists(driven.exclude(load_host__in=serving_hosts()))


def load_host_for(name: str, measured: Host) -> Host | None:
    """The row of the load host that a request names, None if it names none.

    `measured` is the host of the server. Raises BadRequest.
    """
    if not name:
        return None
    if name == measured.name:
        raise BadRequest(
            f"{name} is the measured host itself; without a load host its driver runs there",
            field="load_host",
        )
    host = Host.objects.filter(name=name, retired_at=None).first()
    if host is None or not host.inventory:
        raise BadRequest(
            f"no worker of a host called {name!r} has been heard of", field="load_host"
        )
    if not inventory_of(measured).load_address:
        raise BadRequest(
            f"no load host can reach a server on {measured.name}: its worker needs one of its "
            "addresses in ADVISOR_LOAD_ADDRESS",
            field="load_host",
        )
    return host


def driver_for(named: str, measured: HostInventory, load_host: Host | None) -> FoundDriver:
    """The driver where it is to run; with "auto" the first there. Raises NoDriver."""
    return (measured if load_host is None else inventory_of(load_host)).driver(named)


def load_host_of(study: Study) -> Host | None:
    """The host that drives the study; None if the driver runs beside the server."""
    return Host.objects.filter(driven_workloads__studies=study).first()


def driven_by(host: Host) -> QuerySet[Study, int]:
    """The keys of the studies that the host drives for others."""
    return Study.objects.filter(workloads__load_host=host).values_list("pk", flat=True)


def waiting_text(study: Study) -> str:
    """What is wrong with the study's load host, in one line; "" if nothing is."""
    host = load_host_of(study)
    if host is None or serving_hosts().filter(pk=host.pk).exists():
        return ""
    if host.is_drained:
        return f"load host {host} is drained"
    return f"load host {host} is not heard of; the study goes on when its worker is back"
