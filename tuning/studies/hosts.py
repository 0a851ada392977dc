"""The host that a request is about, and what it has. Nothing here looks at a machine."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db.models import QuerySet

from benchmarks.errors import NotInspected
from benchmarks.inventory.device_lookup import DeviceSpec
from benchmarks.inventory.host import HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from tuning.errors import BadRequest, TuningError


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
    """Those that there are of these names, which may be any text."""
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
