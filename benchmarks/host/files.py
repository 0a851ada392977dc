"""The files that describe the devices of a host: the running one, or a recorded tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HostFiles:
    """`/sys` and `/proc` below `root`; any other root than "/" is a recorded host."""

    root: Path = Path("/")

    @property
    def sys(self) -> Path:
        return self.root / "sys"

    @property
    def mountinfo(self) -> Path:
        return self.root / "proc/self/mountinfo"

    def locate(self, path: Path) -> Path:
        """Our path of the file that this host calls `path`."""
        return self.root / path.absolute().relative_to("/")

    def resolve(self, path: Path, *, strict: bool = False) -> Path:
        """`path` without symbolic links, as this host spells it.

        Raises OSError, or RuntimeError for a loop of links, when `strict`.
        """
        real = self.locate(path).resolve(strict=strict)
        return Path("/") / real.relative_to(self.root.resolve())


def read_text(path: Path) -> str:
    """A file of /sys without blanks around it; "" when it is not there or cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""  # these files come and go with the driver
