"""The inventory of a host: found there, stored with its row, read for planning.

Nothing here looks at a machine: `benchmarks.inventory.inspection` does, on the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from benchmarks.errors import (
    DeviceUnusable,
    NoDriver,
    NoServerFound,
    NoServerUser,
    NotAServer,
    NotListed,
)
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.reserve import Room

AUTO = "auto"


class Part(BaseModel):
    """A part of an inventory; immutable. Fields that a newer version stored are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class Refused(Part):
    """A path that was looked at and cannot be used; `code` and `reason` are those of its error."""

    path: Path
    code: str
    reason: str


class FoundDriver(Part):
    """A workload driver that is installed there. `encrypts`: whether it can use TLS."""

    name: str
    version: str
    encrypts: bool = True


class MissingDriver(Part):
    """A driver that cannot be used there, and what would help."""

    name: str
    reason: str


class FoundDirectory(Part):
    """A directory that may be measured, and what stores it.

    path: as it was named; `identity.path` is without symbolic links. file_system: equal for two
    directories of one file system, within one inventory. direct_io: None where it could not be
    tried. reserve_bytes: what stays free of the file system. datasets: keys of the golden
    datasets there. throttle_problem: why no slower device can be emulated on it, "" where one
    can.
    """

    path: Path
    identity: DeviceIdentity
    file_system: int
    direct_io: bool | None
    reserve_bytes: int = 0
    datasets: tuple[str, ...] = ()
    throttle_problem: str = ""

    @property
    def room(self) -> Room:
        """Bytes that may be written there."""
        return Room(self.identity.path, self.identity.free_bytes, self.reserve_bytes)


class HostInventory(Part):
    """Programs and directories of the host `name` that a study may use.

    A study that names none gets the first server and `default_directory`. `memory_bytes`
    is what servers see, `memory_budget_bytes` what they may use, `logical_cpus` the CPUs that
    they may use, `host_cpus` all of them; `cpu_hz` None where the host does not report it.
    `memory_limit_problem` says why a server's memory cannot be limited, "" where it can.
    `server_options` are the names of a server's options, by its digest.
    `load_address` is the address on which load hosts reach its servers, "" where none may;
    `load_needs_tls` is whether they must use TLS.
    """

    name: str
    inspected_at: datetime
    code_version: str
    servers: tuple[ServerBinary, ...] = ()
    server_options: dict[str, str] = {}
    refused_servers: tuple[Refused, ...] = ()
    drivers: tuple[FoundDriver, ...] = ()
    missing_drivers: tuple[MissingDriver, ...] = ()
    default_directory: Path
    directories: tuple[FoundDirectory, ...] = ()
    refused_directories: tuple[Refused, ...] = ()
    memory_bytes: int
    memory_budget_bytes: int
    logical_cpus: int
    host_cpus: int
    cpu_hz: float | None = None
    open_files: int
    memory_limit_problem: str = ""
    load_address: str = ""
    load_needs_tls: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the value of a JSON column; `from_json` reads it back."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the document that `as_json` wrote."""
        return cls.model_validate(document)

    def server(self, named: Path | None = None) -> ServerBinary:
        """The program at that path, by default the host's first.

        Raises NoServerFound where there is none at all, NotListed for a path that the host does
        not have, NotAServer or NoServerUser with the reason for one that it refused.
        """
        usable = [one for one in self.servers if named in (None, one.path)]
        if usable:
            return usable[0]
        for refused in self.refused_servers:
            if refused.code == NoServerUser.code and named in (None, refused.path):
                raise NoServerUser(refused.reason)  # which is the matter with all of them
            if refused.path == named:
                raise NotAServer(refused.reason)
        if named is None:
            why = "; ".join(one.reason for one in self.refused_servers)
            raise NoServerFound(
                f"no mysqld on host {self.name}{f' ({why})' if why else ''}; run `make setup` "
                "there, or `.venv/bin/python manage.py server add PATH`"
            )
        raise NotListed(
            f"{named} is not a server that may be started on host {self.name}: "
            f"run `.venv/bin/python manage.py server add {named}` there"
        )

    def nearest_server(
        self, flavour: Flavour, version: tuple[int, int, int]
    ) -> ServerBinary | None:
        """The program of that flavour with the nearest version; None without any."""

        def distance(server: ServerBinary) -> list[int]:
            return [abs(a - b) for a, b in zip(server.version, version, strict=True)]

        alike = [one for one in self.servers if one.flavour is flavour]
        return min(alike, key=distance, default=None)

    def options_of(self, binary: ServerBinary) -> frozenset[str] | None:
        """The options that the server program lists; None if that is not known."""
        listed = self.server_options.get(binary.digest)
        return None if not listed else frozenset(listed.split())

    def driver(self, named: str = AUTO) -> FoundDriver:
        """The driver of that name; with "auto" the host's first. Raises NoDriver."""
        for found in self.drivers:
            if named in (AUTO, found.name):
                return found
        missing = [one for one in self.missing_drivers if named in (AUTO, one.name)]
        if missing:
            raise NoDriver(f"Host {self.name}: {' '.join(one.reason for one in missing)}")
        known = [one.name for one in self.drivers] + [one.name for one in self.missing_drivers]
        choices = ", ".join([AUTO, *known])
        raise NoDriver(f"There is no workload driver {named!r}; there are: {choices}.")

    def directory(self, named: Path | None = None) -> FoundDirectory:
        """The directory at that path, by default the host's usual one.

        Raises NotListed for one that the host does not have, DeviceUnusable with the reason for
        one that it cannot use.
        """
        named = named or self.default_directory
        for found in self.directories:
            if named in (found.path, found.identity.path):
                return found
        for refused in self.refused_directories:
            if named == refused.path:
                raise DeviceUnusable(refused.reason)
        raise NotListed(
            f"{named} is not a directory that may be measured on host {self.name}: "
            f"run `.venv/bin/python manage.py device add {named}` there"
        )


def common_drivers(inventories: Sequence[HostInventory]) -> list[tuple[FoundDriver, ...]]:
    """The drivers that all of these hosts have, each as every host has it; the first's order."""
    there = [{driver.name: driver for driver in one.drivers} for one in inventories]
    names = [name for name in there[0] if all(name in one for one in there)]
    return [tuple(one[name] for one in there) for name in names]
