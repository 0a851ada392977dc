"""What a config is for: the flavour and version of a server, without the program itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.servers.binary import Flavour, ServerBinary

Version = tuple[int, int, int]
_NEWEST_PATCH = 99
_TRAITS = re.compile(r"([a-z]+)(?: server)?[\s-]+([0-9]+(?:\.[0-9]+){0,2})")

FLAVOUR_NAMES = {
    Flavour.MYSQL: "MySQL",
    Flavour.PERCONA: "Percona Server",
    Flavour.MARIADB: "MariaDB",
}


def parse_version(text: str) -> Version:
    """Read "8.0.30", "8.4" or "9" as three numbers, missing ones as 0; raises ValueError."""
    parts = [int(part) for part in text.split(".")]
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"not a version: {text!r}")
    major, minor, patch = (*parts, 0, 0)[:3]
    return major, minor, patch


def parse_traits(text: str) -> ServerTraits:
    """Read "mysql 5.7", "MariaDB 10.11.8" or "percona-8.0"; raises ValueError with what is known.

    A version without its last number means the newest of that series.
    """
    match = re.fullmatch(
        r"\s*([a-z]+)(?: server)?[\s-]+([0-9]+(?:\.[0-9]+){0,2})\s*", text.lower()
    )
    if match is None or match[1] not in set(Flavour):
        known = ", ".join(Flavour)
        raise ValueError(f"not a server: {text!r}; write one of {known} and a version: mysql 5.7")
    version = parse_version(match[2])
    if match[2].count(".") < 2:
        version = (version[0], version[1], _NEWEST_PATCH)
    return ServerTraits(Flavour(match[1]), version)


@dataclass(frozen=True)
class ServerTraits:
    """All that decides which knobs a server has and what they mean there."""

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
        """Whether this is MariaDB; MySQL and Percona Server mostly go together."""
        return self.flavour is Flavour.MARIADB

    def __str__(self) -> str:
        return f"{FLAVOUR_NAMES[self.flavour]} {'.'.join(map(str, self.version))}"
