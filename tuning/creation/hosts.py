"""The hosts of a request: the measured one with its server, and the one that drives it.

Hosts are not contacted: their stored inventories are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

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


def server_for(
    named: Path | None, inventory: HostInventory, like: ServerTraits | None
) -> ServerBinary:
    """Return the named server; else the one most `like` the profiled server, else the first.

    Raises InvalidRequest where the profile is of another flavour than all servers of the host, and
    BenchmarkErrors about the server.
    """
    if named is not None or like is None:
        with about("server"):
            return inventory.server(named)
    server = inventory.nearest_server(like.flavour, like.version)
    if server is None:
        kind = FLAVOUR_NAMES[like.flavour]
        reason = f"the profile is of {like}, and host {inventory.name} has no {kind}"
        raise InvalidRequest([("profile", reason)])
    return server


def load_host_for(name: str, measured: HostInventory) -> Host | None:
    """Return the host that drives the measured one; None where the driver runs beside the server.

    Raises BadRequest about a load host that cannot drive.
    """
    if not name:
        return None
    found = hosts_named([name]).filter(retired_at=None).first()
    why = ""
    if name == measured.name:
        why = f"{name} is the measured host itself; without a load host its driver runs there"
    elif found is None or not found.inventory:
        why = f"no worker of a host called {name!r} has been heard of"
    elif not measured.load_address:
        why = (
            f"no load host can reach a server on {measured.name}: its worker needs one of its "
            "addresses in ADVISOR_LOAD_ADDRESS"
        )
    if why:
        raise BadRequest(why, field="load_host")
    return found


def driver_for(named: str, measured: HostInventory, load_host: Host | None) -> FoundDriver:
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
