"""Ends a job before it uses up the reserve of a file system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.storage.human import human_bytes
from benchmarks.storage.reserve import VARIABLE, Room, room_of


class ReserveWatch:
    """Context manager around a job that writes below `directories`.

    To be polled through its own `should_stop` in place of the job's: that also says yes once a
    file system is down to its reserve, whoever fills it. Entering, and the job that was stopped
    for that reason, raise RunFailed(DISK_FULL) with the file system and the figures.
    """

    def __init__(self, directories: Sequence[Path], should_stop: Callable[[], bool]) -> None:
        self._directories = directories
        self._asked_to_stop = should_stop
        self._crossed: Room | None = None

    def __enter__(self) -> Self:
        if crossed := self._look():
            raise no_room(crossed)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        stopped = isinstance(error, RunFailed) and error.outcome is Outcome.CANCELLED
        if stopped and self._crossed is not None:
            raise no_room(self._crossed) from error

    def should_stop(self) -> bool:
        """Whether the job was asked to end, or must end for the reserve."""
        return self._asked_to_stop() or self._look() is not None

    def _look(self) -> Room | None:
        """A file system that is down to its reserve now; kept for the job that ends of it."""
        for directory in self._directories:
            try:
                room = room_of(directory)
            except OSError:  # gone: what is written there finds out
                continue
            if room.usable < 0:
                self._crossed = room
                return room
        return None


def require_room(directory: Path, needed_bytes: int, purpose: str) -> None:
    """RunFailed(DISK_FULL) unless so much can be written beside the reserve."""
    room = room_of(directory)
    if room.usable < needed_bytes:
        raise no_room(room, f"no room for {purpose}, which takes {human_bytes(needed_bytes)}: ")


def no_room(room: Room, what: str = "") -> RunFailed:
    """The failure that names the file system and its figures."""
    return RunFailed(
        Outcome.DISK_FULL,
        f"{room.path}: {what}{human_bytes(room.free)} free on its file system, "
        f"{human_bytes(room.reserve)} stay free ({VARIABLE})",
    )
