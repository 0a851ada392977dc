"""The hosts of a request: the measured one with its server, and those that drive it.

No machine is looked at: all that is asked for stands in the inventories.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet

from benchmarks.errors import NotInspected, about
from benchmarks.inventory.device_lookup import DeviceSpec
from benchmarks.inventory.host import AUTO, FoundDriver, HostInventory, common_drivers
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

    load_hosts: in the order in which they drive; none where the driver runs beside the server.
    """

    host: Host
    inventory: HostInventory
    server: ServerBinary
    load_hosts: list[Host]
    driver: FoundDriver


def hosts_of(
    request: StudyRequest, devices: Iterable[DeviceSpec], like: ServerTraits | None
) -> FoundHosts:
    """Find the hosts, the server and the driver that the request names, or the usual ones.

    Without a named server it is the one most `like` the profiled server, else the host's first.
    Raises like `host_for`, TuningError, host_retired, NotInspected, BadRequest about load hosts
    that cannot drive, NoDriver, and other BenchmarkErrors about the server.
    """
    host = host_for(request.host, devices)
    check_not_retired(host)
    inventory = inventory_of(host)
    if request.server is None and like is not None:
        server = _nearest_server(inventory, like)
    else:
        with about("server"):
            server = inventory.server(request.server)
    load_hosts = _load_hosts(request.load_hosts, inventory)
    driver = _driver(request.driver, inventory, load_hosts)
    return FoundHosts(host, inventory, server, load_hosts, driver)


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


def _nearest_server(inventory: HostInventory, like: ServerTraits) -> ServerBinary:
    """Return the host's server of the same flavour with the nearest version."""
    alike = [one for one in inventory.servers if one.flavour is like.flavour]
    if not alike:
        kind = FLAVOUR_NAMES[like.flavour]
        reason = f"the profile is of {like}, and host {inventory.name} has no {kind}"
        raise InvalidRequest([("profile", reason)])

    def distance(server: ServerBinary) -> list[int]:
        return [abs(a - b) for a, b in zip(server.version, like.version, strict=True)]

    return min(alike, key=distance)


def _load_hosts(names: Sequence[str], measured: HostInventory) -> list[Host]:
    if not names:
        return []
    found = {host.name: host for host in hosts_named(names).filter(retired_at=None)}

    def why_not(name: str) -> str:
        if names.count(name) > 1:
            return f"load host {name} is named twice"
        if name == measured.name:
            return f"{name} is the measured host itself; without a load host its driver runs there"
        if name not in found or not found[name].inventory:
            return f"no worker of a host called {name!r} has been heard of"
        return ""

    if reason := next(filter(None, map(why_not, names)), ""):
        raise BadRequest(reason, field="load_hosts")
    if not measured.load_address:
        raise BadRequest(
            f"no load host can reach a server on {measured.name}: its worker needs one of its "
            "addresses in ADVISOR_LOAD_ADDRESS",
            field="load_hosts",
        )
    return sorted(found.values(), key=lambda host: host.pk)


def _driver(named: str, measured: HostInventory, load_hosts: Sequence[Host]) -> FoundDriver:
    """Return the driver where it is to run; with "auto" the first with which the hosts can drive.

    Raises NoDriver about the field `driver`; BadRequest about that or the load hosts if there is
    none with which they can, alone or together.
    """
    with about("driver"):
        if not load_hosts:
            return measured.driver(named)
        inventories = [inventory_of(host) for host in load_hosts]
        choices = [tuple(one.driver(named) for one in inventories)]
    if named == AUTO:
        choices = common_drivers(inventories)
    refusals = []
    for drivers in choices:
        why = _why_not(drivers, load_hosts, measured)
        if not why:
            return drivers[0]
        refusals.append(why)
    if not refusals:
        names = ", ".join(host.name for host in load_hosts)
        refusals.append(f"the load hosts {names} have no driver in common")
    raise BadRequest("; ".join(refusals), field="load_hosts" if named == AUTO else "driver")


def _why_not(
    drivers: Sequence[FoundDriver], load_hosts: Sequence[Host], measured: HostInventory
) -> str:
    """Say why load hosts cannot drive with these, one of each; "" if they can."""
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
