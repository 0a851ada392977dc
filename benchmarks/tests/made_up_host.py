"""Inventories of hosts that do not exist, for tests of what is planned from them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.inventory.host import FoundDirectory, FoundDriver, HostInventory
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Host
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.storage.identify import identify_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind

GB = 10**9
MYSQL = ServerBinary(
    path=Path("/usr/sbin/mysqld"),
    flavour=Flavour.MYSQL,
    version=(9, 7, 4),
    version_text="9.7.4",
    digest="8d3c1f" + "0" * 58,
    basedir=None,
)


def made_up_host(
    *,
    servers: Iterable[ServerBinary] = (MYSQL,),
    driver: str = "sysbench",
    directories: Iterable[Path] = (),
    **facts: Any,
) -> HostInventory:
    """A host with those servers and directories, the latter of this machine; the first of each is
    the default one. `facts` are fields of HostInventory.
    """
    there = tuple(directory_of(path) for path in directories)
    usual: dict[str, Any] = {
        "name": "db-host-1",
        "inspected_at": datetime.now(UTC),
        "code_version": "",
        "servers": tuple(servers),
        "drivers": (FoundDriver(name=driver, version="1.0.20"),),
        "default_directory": there[0].path if there else Path("/srv/none"),
        "directories": there,
        "memory_bytes": 24 * GB,
        "memory_budget_bytes": 24 * GB,
        "logical_cpus": 2,
        "host_cpus": 2,
        "cpu_hz": 2e9,
        "open_files": 65_536,
    }
    return HostInventory(**usual | facts)


def directory_of(path: Path, **facts: Any) -> FoundDirectory:
    """A directory of this machine, made if need be, as if everything could be emulated on it."""
    path.mkdir(parents=True, exist_ok=True)
    usual: dict[str, Any] = {
        "path": path,
        "identity": identify_device(path),
        "file_system": path.stat().st_dev,
        "direct_io": True,
    }
    return FoundDirectory(**usual | facts)


def directory_elsewhere(
    path: Path, number: int, kind: DeviceKind = DeviceKind.NVME
) -> FoundDirectory:
    """A directory that this machine has not. `number`: of its device and file system."""
    identity = DeviceIdentity(
        path=path,
        kind=kind,
        block_device=f"nvme{number}n1",
        model="SAMSUNG MZWLL1T6HEHP",
        scheduler="none",
        file_system="xfs",
        mount_options="rw",
        total_bytes=1600 * GB,
        free_bytes=1000 * GB,
    )
    return FoundDirectory(path=path, identity=identity, file_system=number, direct_io=True)


def with_inventory(host: Host, found: HostInventory) -> Host:
    """The host's row, with that inventory."""
    host.inventory = found.as_json()
    host.save(update_fields=["inventory"])
    return host


def this_host(**values: Any) -> Host:
    """The row of this machine, with the inventory that `made_up_host` makes of `values`."""
    found = made_up_host(**values)
    usual = {"inventory": found.as_json()}
    host, is_new = Host.objects.get_or_create(name=settings.HOST_NAME, defaults=usual)
    return host if is_new else with_inventory(host, found)


def change_host(**facts: Any) -> Host:
    """Change facts of the only host that there is."""
    host = Host.objects.get()
    return with_inventory(host, inventory_of(host).model_copy(update=facts))


def add_directories(*paths: Path, **facts: Any) -> Host:
    """Give the only host more directories, of this machine."""
    host = Host.objects.get()
    found = inventory_of(host)
    for path in paths:
        found = with_directory(found, directory_of(path, **facts))
    return with_inventory(host, found)


def with_directory(found: HostInventory, there: FoundDirectory) -> HostInventory:
    """The inventory with that directory, in its place if it is known."""
    known = {one.path: one for one in found.directories} | {there.path: there}
    return found.model_copy(update={"directories": tuple(known.values())})
