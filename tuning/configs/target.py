"""What a config is for: the flavour and version of a server, without the program itself."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.servers.binary import Flavour, ServerBinary

Version = tuple[int, int, int]

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
