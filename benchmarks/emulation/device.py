"""An emulated device: cgroups around one server, created for one run and removed after it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.emulation.groups import Disk, Group, by_tree, disks_behind, new_group
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import EmulationUnavailable, NoServerUser
from benchmarks.host.cgroups import IO, MEMORY
from benchmarks.processes.child import run

#: The exit status of `entry_words` when the process could not go in.
NOT_ENTERED = 97
_SHELL = "/bin/sh"
# `0` is the writer itself, and the shell writes before it becomes the command: so the command is
# inside from its first instruction, with all its threads, and nothing else ever is.
_ENTER = f"""\
while [ "$1" != -- ]; do
    echo 0 > "$1" || exit {NOT_ENTERED}
    shift
done
shift
exec "$@"
"""


@dataclass(frozen=True)
class CgroupLimits:
    """Limits around one server or fio from its first instruction on: the cgroups of one run."""

    profile: EmulationProfile
    disks: tuple[Disk, ...]
    groups: tuple[Group, ...]

    @property
    def label(self) -> str:
        """The profile in words, with the names of the disks."""
        on = " and ".join(disk.name for disk in self.disks)
        return self.profile.label() + (f" on {on}" if on else "")

    @property
    def entry_words(self) -> list[str]:
        """Return the words before a command (mysqld, fio) that make it run inside.

        Exit status NOT_ENTERED and a line on stderr when the kernel does not let it in.
        """
        files = [str(group.procs) for group in self.groups]
        return [_SHELL, "-c", _ENTER, "enter-cgroup", *files, "--"]

    def holds(self, pid: int) -> bool:
        """Whether the process is inside all groups."""
        return all(pid in group.pids() for group in self.groups)

    def lift(self) -> None:
        """Take the I/O limits away, for a quick end; memory stays limited. Never raises."""
        for group in self.groups:
            group.lift()

    def oom_kills(self) -> int | None:
        """Processes inside killed by the kernel for lack of memory; None: no memory limit."""
        counts = [group.oom_kills() for group in self.groups]
        return next((count for count in counts if count is not None), None)


@contextlib.contextmanager
def emulated_device(
    profile: EmulationProfile | None, paths: Sequence[Path], *, run: str
) -> Iterator[CgroupLimits | None]:
    """Make the cgroups of a run, with the limits on every disk that holds one of `paths`.

    Hand the yielded limits to `running_server(resource_limits=...)`, whose block must end within
    this one. Without a profile it yields None: the device as it is. At the end, on every path,
    processes still inside are killed and the cgroups are removed; `sweep_cgroups` removes the
    cgroups of a killed worker.

    Raises EmulationUnavailable with the reason when the limits cannot be set.
    """
    if profile is None:
        yield None
        return
    disks = disks_behind(paths) if profile.throttles else ()
    asked = {IO: profile.throttles, MEMORY: profile.memory_bytes is not None}
    trees = by_tree(controller for controller, is_asked in asked.items() if is_asked)
    with contextlib.ExitStack() as stack:
        groups = tuple(new_group(*where, run, stack) for where in trees.items())
        for group in groups:
            group.limit(profile, disks)
        yield CgroupLimits(profile, disks, groups)


def why_unavailable(profile: EmulationProfile, paths: Sequence[Path]) -> str:
    """The reason why the profile cannot be had here, "" when it can: by trying it for a moment."""
    try:
        with emulated_device(profile, paths, run="check") as limits:
            tried = run("true", entry=limits.entry_words if limits else ())
            return str(not_entered(tried.output)) if tried.status else ""
    except (EmulationUnavailable, NoServerUser, OSError) as error:
        return str(error)


def not_entered(output: str) -> EmulationUnavailable:
    """Make the error for a process that could not go in; `output` is what its shell printed."""
    lines = output.strip().splitlines()
    return EmulationUnavailable(
        "a process cannot be put into the cgroup: the worker must itself run in a cgroup below "
        f"one that it may write to (docs/how-to/emulation.md){': ' + lines[-1] if lines else ''}"
    )
