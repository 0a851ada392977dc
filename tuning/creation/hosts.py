"""The hosts of a request: the measured one with its server, and the one that drives it.

Hosts are not contacted: their stored inventories are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from benchmarks.errors import NotInspected, about
from benchmarks.inventory.device_lookup import DeviceSpec
from benchmarks.inventory.host import AUTO, FoundDriver, HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.servers.binary import ServerBinary
from tuning.catalogue.target import FLAVOUR_NAMES, ServerTraits
from tuning.errors import BadRequest, InvalidRequest, TuningError
from tuning.requests.study import StudyRequest
from tuning.studies.waiting import check_not_retired


@dataclass(frozen=True)
class FoundHosts:
    """The measured host with its inventory and server, and what drives the server.

    load_host: None where the driver runs beside the server.
    """

    host: Host
    inventory: HostInventory
    server: ServerBinary
    load_host: Host | None
    driver: FoundDriver


def hosts_of(
    request: StudyRequest, devices: Iterable[DeviceSpec], like: ServerTraits | None
) -> FoundHosts:
    """Find the hosts, the server and the driver that the request names, or the usual ones.

    Without a named server it is the one most `like` the profiled server, else the host's first.
    Raises like `host_for`, TuningError, host_retired, NotInspected, BadRequest about a load host
    that cannot drive, NoDriver, and other BenchmarkErrors about the server.
    """
    host = host_for(request.host, devices)
    check_not_retired(host)
    inventory = inventory_of(host)
    load_host = _load_host(request.load_host, inventory)
    if request.server is None and like is not None:
        server = inventory.nearest_server(like.flavour, like.version)
        if server is None:
            kind = FLAVOUR_NAMES[like.flavour]
            reason = f"the profile is of {like}, and host {host.name} has no {kind}"
            raise InvalidRequest([("profile", reason)])
    else:
        with about("server"):
            server = inventory.server(request.server)
    driver = _driver(request.driver, inventory, load_host)
    return FoundHosts(host, inventory, server, load_host, driver)


def host_for(named: str = "", devices: Iterable[DeviceSpec] = ()) -> Host:
    """Return the host of that name; else that of the registered devices, else the only host.

    Retired ones count when they are named. Where there are several, the machine that this runs on
    counts, if it is one of them. Raises BadRequest for a host that does not exist, has not all the
    devices or would have to be guessed, and TuningError, no_host, where no worker ever ran.
    """
    for index, device in enumerate(devices):
        named = named or device.host
        if device.host not in ("", named):
            raise BadRequest(
                f"the device belongs to host {device.host}, and the study is to be measured on "
                f"{named}",
                field=f"devices[{index}]",
            )
    if named:
        if found := hosts_named([named]).first():
            return found
        known = ", ".join(Host.objects.order_by("name").values_list("name", flat=True))
        raise BadRequest(f"there is no host {named!r}; there are: {known or 'none'}", field="host")
    in_use = {host.name: host for host in Host.objects.filter(retired_at=None).order_by("name")}
    if not in_use:
        raise TuningError("no_host", "no worker has run yet: start one, it inspects its host")
    usual = settings.HOST_NAME if len(in_use) > 1 else next(iter(in_use))
    if usual in in_use:
        return in_use[usual]
    raise BadRequest(f"name one of the hosts: {', '.join(in_use)}", field="host")


def hosts_named(names: Iterable[str]) -> QuerySet[Host]:
    """Return the hosts that have one of these names; the names may be any text."""
    # PostgreSQL takes no NUL, not even to look for it.
    return Host.objects.filter(name__in=[name for name in names if "\0" not in name])


def what_host_has(named: str = "") -> HostInventory:
    """Return the inventory of that host. Raises like `host_for`, and NotInspected."""
    return inventory_of(host_for(named))


def cpus_of(named: str = "") -> int:
    """Return the CPUs that a server may use on that host; 1 until that is known."""
    try:
        return what_host_has(named).logical_cpus
    except (NotInspected, TuningError):
        return 1


def _load_host(name: str, measured: HostInventory) -> Host | None:
    if not name:
        return None
    if name == measured.name:
        raise BadRequest(
            f"{name} is the measured host itself; without a load host its driver runs there",
            field="load_host",
        )
    found = hosts_named([name]).filter(retired_at=None).first()
    if found is None or not found.inventory:
        raise BadRequest(
            f"no worker of a host called {name!r} has been heard of", field="load_host"
        )
    if not measured.load_address:
        raise BadRequest(
            f"no load host can reach a server on {measured.name}: its worker needs one of its "
            "addresses in ADVISOR_LOAD_ADDRESS",
            field="load_host",
        )
    return found


def _driver(named: str, measured: HostInventory, load_host: Host | None) -> FoundDriver:
    """Return the driver where it is to run; with "auto" the first with which the host can drive.

    Raises NoDriver, about the field `driver`; BadRequest, about `driver` or `load_host`, where the
    load host can use none.
    """
    with about("driver"):
        if load_host is None:
            return measured.driver(named)
        inventory = inventory_of(load_host)
        drivers = inventory.drivers if named == AUTO else (inventory.driver(named),)
    for driver in drivers:
        if driver.encrypts or not measured.load_needs_tls:
            return driver
    names = " and ".join(driver.name for driver in drivers)
    why = (
        f"{names} on load host {load_host.name} cannot use TLS, without which no load host "
        f"reaches a server on {measured.name}; build it with MySQL's own client library, use "
        "sysbench, or set ADVISOR_LOAD_TLS=false for the worker there"
        if drivers
        else f"the load host {load_host.name} has no driver"
    )
    raise BadRequest(why, field="load_host" if named == AUTO else "driver")
