"""A group with limits in which a server gets less than the host has."""

from __future__ import annotations

from typing import Protocol

from benchmarks.errors import EmulationUnavailable

#: The exit status of `entry_words` when the process could not go in.
NOT_ENTERED = 97


class ResourceLimits(Protocol):
    """Limits around one server from its first instruction on (benchmarks.emulation)."""

    @property
    def label(self) -> str:
        """The limits in words for people."""

    @property
    def entry_words(self) -> list[str]:
        """Put before a command: it goes in, then becomes the command; NOT_ENTERED if it cannot."""

    def holds(self, pid: int) -> bool:
        """Whether the process is inside."""

    def lift(self) -> None:
        """Take the limits on I/O away, so that a server can be stopped quickly; never raises."""

    def oom_kills(self) -> int | None:
        """How many processes inside the kernel has killed for lack of memory; None if unknown."""


def not_entered(said: str) -> EmulationUnavailable:
    """Make the error for a process that could not go in; `said` is what `entry_words` printed."""
    lines = said.strip().splitlines()
    return EmulationUnavailable(
        "a process cannot be put into the cgroup: the worker must itself run in a cgroup below "
        f"one that it may write to (docs/how-to/emulation.md){': ' + lines[-1] if lines else ''}"
    )
