"""The server that a file was written for: one that is known, or any older one."""

from __future__ import annotations

from enum import StrEnum

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import ServerTraits


class AnyVersion(StrEnum):
    """Means that the server a file was written for is unknown: any older one."""

    ANY = "any"


ANY_VERSION = AnyVersion.ANY
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
