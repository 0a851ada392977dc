"""The hosts of a request: the measured one and those that drive it. No machine is looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django.conf import settings
from django.db.models import QuerySet

from benchmarks.counted import counted
from benchmarks.errors import NotInspected, about
from benchmarks.inventory.device_lookup import DeviceSpec
from benchmarks.inventory.host import AUTO, FoundDriver, HostInventory, common_drivers
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from tuning.errors import BadRequest, TuningError

_FIELD = "load_hosts"


def host_for(named: str = "", devices: Iterable[DeviceSpec] = ()) -> Host:
    """The host of that name; without one that of the registered devices, else the only host.

    Retired ones count when they are named. Where there are several, the machine that this runs on
    counts, if it is one of them. Raises BadRequest for a host that does not exist, has not all the
    devices or would have to be guessed, and TuningError, no_host, where no worker ever ran.
    """
    named_hosts = [(index, one.host) for index, one in enumerate(devices) if one.host]
    name = named or (named_hosts[0][1] if named_hosts else "")
    for index, there in named_hosts:
        if there != name:
            raise BadRequest(
                f"the device belongs to host {there}, and the study is to be measured on {name}",
                field=f"devices[{index}]",
            )
    if name:
        if found := hosts_named([name]).first():
            return found
        there = ", ".join(_names(Host.objects.all())) or "none"
        raise BadRequest(f"there is no host {name!r}; there are: {there}", field="host")
    in_use = Host.objects.filter(retired_at=None)
    names = _names(in_use)
    if not names:
        raise TuningError("no_host", "no worker has run yet: start one, it inspects its host")
    usual = names[0] if len(names) == 1 else settings.HOST_NAME
    if usual in names and (found := in_use.filter(name=usual).first()):
        return found
    raise BadRequest(f"name one of the hosts: {', '.join(names)}", field="host")


def hosts_named(names: Iterable[str]) -> QuerySet[Host]:
    """Return the hosts that have one of these names; the names may be any text."""
    # PostgreSQL takes no NUL, not even to look for it.
    return Host.objects.filter(name__in=[name for name in names if "\0" not in name])


def what_host_has(named: str = "", devices: Iterable[DeviceSpec] = ()) -> HostInventory:
    """The inventory of that host. Raises like `host_for`, and NotInspected."""
    return inventory_of(host_for(named, devices))


def cpus_of(named: str = "") -> int:
    """CPUs that a server may use on that host, as `what_host_has`; 1 until that is known."""
    try:
        return what_host_has(named).logical_cpus
    except (NotInspected, TuningError):
        return 1


def _names(hosts: QuerySet[Host]) -> list[str]:
    return sorted(hosts.values_list("name", flat=True))


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
