"""The part of each file system that the advisor leaves free, whatever it does."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.errors import DeviceFull
from benchmarks.storage.human import human_bytes

#: A size such as `20G`, a share such as `8%`, or 0 for none.
VARIABLE: Final = "ADVISOR_DISK_RESERVE"
_DEFAULT_BYTES: Final = 2 * 1024**3
_DEFAULT_SHARE: Final = 0.05
_UNITS: Final = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SETTING: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(%)|([KMGT]?)(?:i?B)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Reserve:
    """The larger of a size in bytes and a share (0..1) of the file system."""

    size: int = _DEFAULT_BYTES
    share: float = _DEFAULT_SHARE

    def bytes_of(self, total_bytes: int) -> int:
        """The reserve of a file system of that size."""
        return max(self.size, int(total_bytes * self.share))


def parse_reserve(text: str) -> Reserve:
    """Parse `ADVISOR_DISK_RESERVE`; empty for the default. Raises ValueError."""
    if not text.strip():
        return Reserve()
    found = _SETTING.fullmatch(text.strip())
    if not found:
        raise ValueError("expected a size such as 20G, a share such as 8% or 0")
    number = float(found[1])
    if found[2]:
        if number >= 100:
            raise ValueError("expected less than 100%")
        return Reserve(size=0, share=number / 100)
    return Reserve(size=int(number * _UNITS[found[3].upper()]), share=0.0)


def reserve_bytes(total_bytes: int) -> int:
    """The reserve of a file system of that size on this host."""
    return parse_reserve(os.environ.get(VARIABLE, "")).bytes_of(total_bytes)


@dataclass(frozen=True)
class Room:
    """A file system's bytes: `free` is what an unprivileged user, as the server is, may fill."""

    path: Path
    free: int
    reserve: int

    @property
    def usable(self) -> int:
        """Bytes that may be written before the reserve is reached; negative below it."""
        return self.free - self.reserve

    def check(self, needed_bytes: int) -> None:
        """Raise DeviceFull, with the figures, unless so much can be written beside the reserve."""
        if self.usable < needed_bytes:
            kept = f" beside a reserve of {human_bytes(self.reserve)}" if self.reserve else ""
            raise DeviceFull(
                f"{self.path}: {human_bytes(self.free)} free, "
                f"{human_bytes(needed_bytes)} needed{kept}"
            )


def room_of(path: Path) -> Room:
    """The room of the file system that an existing path is on. Raises OSError."""
    space = os.statvfs(path)
    free = space.f_bavail * space.f_frsize
    return Room(path, free, reserve_bytes(space.f_blocks * space.f_frsize))
