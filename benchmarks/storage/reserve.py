"""The part of each file system that the advisor leaves free, whatever it does."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from benchmarks.errors import DeviceFull, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.storage.human import human_bytes

#: A size such as `20G`, a share such as `8%`, or 0 for none.
VARIABLE: Final = "ADVISOR_DISK_RESERVE"
_DEFAULT_BYTES: Final = 2 * 1024**3
_DEFAULT_SHARE: Final = 0.05
_UNITS: Final = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SETTING: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:(%)|([KMGT]?)(?:i?B)?)", re.IGNORECASE)


def reserve_bytes(total_bytes: int, setting: str | None = None) -> int:
    """Return the reserve of a file system of that size.

    `setting`: by default ADVISOR_DISK_RESERVE of this host; empty for the larger of 2 GiB and
    5 %. Raises ValueError.
    """
    text = (os.environ.get(VARIABLE, "") if setting is None else setting).strip()
    if not text:
        return max(_DEFAULT_BYTES, int(total_bytes * _DEFAULT_SHARE))
    found = _SETTING.fullmatch(text)
    if not found:
        raise ValueError("expected a size such as 20G, a share such as 8% or 0")
    number = float(found[1])
    if not found[2]:
        return int(number * _UNITS[found[3].upper()])
    if number >= 100:
        raise ValueError("expected less than 100%")
    return int(total_bytes * number / 100)


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
        """Raise DeviceFull, with the figures, unless so much fits without using the reserve."""
        if self.usable < needed_bytes:
            kept = f" on top of a reserve of {human_bytes(self.reserve)}" if self.reserve else ""
            raise DeviceFull(
                f"{self.path}: {human_bytes(self.free)} free, "
                f"{human_bytes(needed_bytes)} needed{kept}"
            )


def room_of(path: Path) -> Room:
    """Return the room of the file system that an existing path is on. Raises OSError."""
    space = os.statvfs(path)
    free = space.f_bavail * space.f_frsize
    return Room(path, free, reserve_bytes(space.f_blocks * space.f_frsize))


class ReserveWatch:
    """Context manager around a job that writes below `directories`.

    Its own `should_stop` takes the place of the job's: that also says yes once a file system is
    down to its reserve, even if others fill it. Entering, and a job that was stopped for it,
    raise RunFailed(DISK_FULL) with the file system and the figures.
    """

    def __init__(self, directories: Sequence[Path], should_stop: Callable[[], bool]) -> None:
        self._directories = directories
        self._asked_to_stop = should_stop
        self._crossed: Room | None = None

    def __enter__(self) -> Self:
        if self._has_crossed() and self._crossed is not None:
            raise no_room(self._crossed)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        stopped = isinstance(error, RunFailed) and error.outcome is Outcome.CANCELLED
        if stopped and self._crossed is not None:
            raise no_room(self._crossed) from error

    def should_stop(self) -> bool:
        """Whether the job was asked to end, or must end for the reserve."""
        return self._asked_to_stop() or self._has_crossed()

    def _has_crossed(self) -> bool:
        for directory in self._directories:
            try:
                room = room_of(directory)
            except OSError:  # gone: what is written there finds out
                continue
            if room.usable < 0:
                self._crossed = room
                return True
        return False


def require_room(directory: Path, needed_bytes: int, purpose: str) -> None:
    """Raise RunFailed(DISK_FULL) unless so much fits without using the reserve."""
    room = room_of(directory)
    if room.usable < needed_bytes:
        raise no_room(room, f"no room for {purpose}, which takes {human_bytes(needed_bytes)}: ")


def no_room(room: Room, what: str = "") -> RunFailed:
    """Return the failure that names the file system and its figures."""
    return RunFailed(
        Outcome.DISK_FULL,
        f"{room.path}: {what}{human_bytes(room.free)} free on its file system, "
        f"{human_bytes(room.reserve)} stay free ({VARIABLE})",
    )
