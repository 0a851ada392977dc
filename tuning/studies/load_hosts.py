"""Studies that other hosts drive: which ones, and when they wait for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django.db.models import Exists, OuterRef, QuerySet

from benchmarks.counted import counted
from benchmarks.errors import about
from benchmarks.inventory.host import AUTO, FoundDriver, HostInventory, common_drivers
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.presence import serving_hosts
from benchmarks.models import Host, Workload
from tuning.errors import BadRequest
from tuning.models import Study

_FIELD = "load_hosts"


def has_load_host_away() -> Exists:
    """The condition for a study with a silent or drained load host: it waits, others go on."""
    driving = Host.objects.filter(driven_workloads__studies=OuterRef("pk"))
    return Exists(driving.exclude(pk__in=serving_hosts()))


def load_hosts_for(
    names: Sequence[str], measured: Host, connections: Collection[int]
) -> list[Host]:
    """The rows of the load hosts that a request names, in the order in which they drive.

    `measured` is the host of the server, `connections` are the numbers of the study's workloads.
    Raises BadRequest.
    """
    if not names:
        return []
    there = {host.name: host for host in Host.objects.filter(name__in=names, retired_at=None)}
    for name in names:
        if names.count(name) > 1:
            raise BadRequest(f"load host {name} is named twice", field=_FIELD)
        if name == measured.name:
            raise BadRequest(
                f"{name} is the measured host itself; without a load host its driver runs there",
                field=_FIELD,
            )
        if name not in there or not there[name].inventory:
            raise BadRequest(
                f"no worker of a host called {name!r} has been heard of", field=_FIELD
            )
    if not inventory_of(measured).load_address:
        raise BadRequest(
            f"no load host can reach a server on {measured.name}: its worker needs one of its "
            "addresses in ADVISOR_LOAD_ADDRESS",
            field=_FIELD,
        )
    if (least := min(connections)) < len(names):
        raise BadRequest(
            f"{len(names)} load hosts cannot share "
            f"{counted(least, 'connection')}: each needs at least one",
            field=_FIELD,
        )
    return sorted(there.values(), key=lambda host: host.pk)


def driver_for(named: str, measured: HostInventory, load_hosts: Sequence[Host]) -> FoundDriver:
    """The driver where it is to run; with "auto" the first with which these hosts can drive.

    Raises NoDriver about the field `driver`; BadRequest about that or the load hosts if there is
    none with which they can, alone or together.
    """
    with about("driver"):
        if not load_hosts:
            return measured.driver(named)
        inventories = [inventory_of(host) for host in load_hosts]
        asked = [tuple(one.driver(named) for one in inventories)]
    refusals = []
    for drivers in common_drivers(inventories) if named == AUTO else asked:
        why = _why_not(drivers, load_hosts, measured)
        if not why:
            return drivers[0]
        refusals.append(why)
    if not refusals:
        names = ", ".join(host.name for host in load_hosts)
        refusals.append(f"the load hosts {names} have no driver in common")
    raise BadRequest("; ".join(refusals), field=_FIELD if named == AUTO else "driver")


def _why_not(
    drivers: Sequence[FoundDriver],
    load_hosts: Sequence[Host],
    measured: HostInventory,
) -> str:
    """Why load hosts cannot drive with these, one of each; "" if they can."""
    first = drivers[0]
    for driver, host in zip(drivers, load_hosts, strict=True):
        if measured.load_needs_tls and not driver.encrypts:
            return (
                f"{driver.name} on load host {host.name} cannot use TLS, without which no load "
                f"host reaches a server on {measured.name}; build it with MySQL's own client "
                "library, use sysbench, or set ADVISOR_LOAD_TLS=false for the worker there"
            )
        if driver.version != first.version:
            return (
                f"load hosts need the same driver in the same version: {load_hosts[0].name} has "
                f"{first.name} {first.version}, {host.name} has {driver.version}"
            )
    return ""


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
