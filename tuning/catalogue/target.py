"""The target of a config: the flavour and version of a server, without the program itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from benchmarks.servers.binary import Flavour, ServerBinary

Version = tuple[int, int, int]
_NEWEST_PATCH = 99
_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,2}")
_TRAITS = re.compile(
    r"\s*([a-z]+)(?: server)?[\s-]+([0-9]{1,3}(?:\.[0-9]{1,3}){0,2})\s*", re.ASCII
)

_OF_MYSQL = (((5, 7), (5, 7)), ((8, 0), (8, 4)), ((9, 0), (9, 99)))
#: First and last series of each range in scope; what they have is in the catalogue.
SCOPE = {
    Flavour.MYSQL: _OF_MYSQL,
    Flavour.PERCONA: _OF_MYSQL,
    Flavour.MARIADB: (((10, 6), (10, 11)), ((11, 0), (11, 8)), ((12, 0), (12, 99))),
}

FLAVOUR_NAMES = {
    Flavour.MYSQL: "MySQL",
    Flavour.PERCONA: "Percona Server",
    Flavour.MARIADB: "MariaDB",
}


def parse_version(text: str) -> Version:
    """Read "8.0.30", "8.4" or "9" as three numbers, missing ones as 0; raises ValueError."""
    if not _VERSION.fullmatch(text):
        raise ValueError(f"not a version: {text!r}")
    parts = [int(part) for part in text.split(".")]
    major, minor, patch = (*parts, 0, 0)[:3]
    return major, minor, patch


def read_release(written: object) -> Version:
    """A release as the data files write it; raises ValueError."""
    if not isinstance(written, str) or "." not in written:
        raise ValueError(f'not a release: {written!r}; write "8.0" or "8.0.30", with the quotes')
    return parse_version(written)


def parse_traits(text: str) -> ServerTraits:
    """Read "mysql 5.7", "MariaDB 10.11.8" or "percona-8.0"; raises ValueError naming known ones.

    A version without its last number means the newest of that series.
    """
    match = _TRAITS.fullmatch(text.lower())
    if match is None or match[1] not in set(Flavour):
        known = ", ".join(Flavour)
        raise ValueError(f"not a server: {text!r}; write one of {known} and a version: mysql 5.7")
    flavour, version = Flavour(match[1]), parse_version(match[2])
    if not any(first <= version[:2] <= last for first, last in SCOPE[flavour]):
        known = ", ".join(_range(first, last) for first, last in SCOPE[flavour])
        raise ValueError(f"not a known version: {text!r}; known for {flavour}: {known}")
    if match[2].count(".") < 2:
        version = (version[0], version[1], _NEWEST_PATCH)
    return ServerTraits(flavour, version)


def _range(first: tuple[int, int], last: tuple[int, int]) -> str:
    """ "5.7", "8.0 to 8.4" or "9.0 and later"."""
    if first == last:
        return f"{first[0]}.{first[1]}"
    until = "and later" if last[1] == _NEWEST_PATCH else f"to {last[0]}.{last[1]}"
    return f"{first[0]}.{first[1]} {until}"


@dataclass(frozen=True)
class ServerTraits:
    """The flavour and version, which determine a server's knobs and their meaning."""

    flavour: Flavour
    version: Version

    @classmethod
    def of(cls, binary: ServerBinary) -> ServerTraits:
        """The traits of a server program."""
        return cls(binary.flavour, binary.version)

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor version: (8, 4)."""
        return self.version[:2]

    @property
    def mariadb(self) -> bool:
        """Whether this is MariaDB; MySQL and Percona Server mostly behave alike."""
        return self.flavour is Flavour.MARIADB

    def __str__(self) -> str:
        is_series = self.version[2] == _NEWEST_PATCH  # of a version without its last number
        version = self.series if is_series else self.version
        return f"{FLAVOUR_NAMES[self.flavour]} {'.'.join(map(str, version))}"


class ServerRow(Protocol):
    """A stored server; its version may have a suffix of a distribution."""

    flavour: str
    version: str


def traits_of(server: ServerRow) -> ServerTraits:
    """Return flavour and version of a stored server."""
    number = re.match(r"\d+(\.\d+){0,2}", server.version)
    if number is None:
        raise ValueError(f"not a version: {server.version!r}")
    return ServerTraits(Flavour(server.flavour), parse_version(number[0]))


class AnyVersion(StrEnum):
    """Means that the server a file was written for is unknown: any older one."""

    ANY = "any"


ANY_VERSION = AnyVersion.ANY
#: The server that a file was written for.
Origin = ServerTraits | AnyVersion
#: One release of every series in scope, to find out whether any of them accepts a value.
RELEASES = tuple(
    ServerTraits(flavour, version)
    for flavour, versions in {
        Flavour.MYSQL: ((5, 7, 44), (8, 0, 19), (8, 0, 46), (8, 4, 13), (9, 7, 4)),
        Flavour.PERCONA: ((5, 7, 44), (8, 0, 36), (8, 4, 5)),
        Flavour.MARIADB: ((10, 6, 20), (10, 11, 19), (11, 4, 9), (11, 8, 9)),
    }.items()
    for version in versions
)


def releases(origin: Origin) -> tuple[ServerTraits, ...]:
    """The servers that a file may have been written for."""
    return (origin,) if isinstance(origin, ServerTraits) else RELEASES
