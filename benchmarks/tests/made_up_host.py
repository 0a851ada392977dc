"""Inventories of hosts that do not exist, for tests of what is planned from them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.inventory.host import FoundDirectory, FoundDriver, HostInventory
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.models import Host
from benchmarks.servers.binary import Flavour, ServerBinary

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
    usual: dict[str, Any] = {
        "name": "db-host-1",
        "inspected_at": datetime.now(UTC),
        "code_version": "",
        "servers": tuple(servers),
        "drivers": (FoundDriver(name=driver, version="1.0.20"),),
        "directories": tuple(directory_of(path) for path in directories),
        "memory_bytes": 24 * GB,
        "memory_budget_bytes": 24 * GB,
        "logical_cpus": 2,
        "host_cpus": 2,
        "cpu_hz": 2e9,
        "open_files": 65_536,
    }
    return HostInventory(**usual | facts)


def directory_of(path: Path, **facts: Any) -> FoundDirectory:
    """A directory of this machine, on which a slower device can be emulated unless `facts` say
    otherwise.
    """
    path.mkdir(parents=True, exist_ok=True)
    return inspect_directory(path).model_copy(update={"throttle_problem": ""} | facts)


def with_inventory(host: Host, found: HostInventory) -> Host:
    """The host's row, with that inventory."""
    host.inventory = found.as_json()
    host.save(update_fields=["inventory"])
    return host
