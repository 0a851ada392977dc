"""An emulated device: cgroups around one server, created for one run and removed after it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.emulation.groups import Group
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.emulation.targets import Disk, disks_behind
from benchmarks.errors import EmulationUnavailable
from benchmarks.host.cgroups import IO, MEMORY, Hierarchy, find_hierarchy, parent_for
from benchmarks.ownership.held import hold, is_free
from benchmarks.processes.child import run
from benchmarks.servers.resource_limits import NOT_ENTERED, not_entered

#: Every cgroup of ours begins with this. Its maker holds a lock on it for as long as it lives.
PREFIX = "oltp-advisor-"
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
    """The cgroups of one run: the ResourceLimits of `running_server` and fio."""

    profile: EmulationProfile
    disks: tuple[Disk, ...]
    groups: tuple[Group, ...]

    @property
    def label(self) -> str:
        """The profile in words, with the names of the disks."""
        return self.profile.text(on=" and ".join(disk.name for disk in self.disks))

    @property
    def entry_words(self) -> list[str]:
        """Before any command of ours (mysqld, fio): the command runs inside.

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

    Hand what is given to `running_server(resource_limits=...)`, whose block must end within this
    one. Without a profile it does nothing and gives None: the device as it is. At the end, on
    every path, whatever is still inside is killed and the cgroups are removed; those of a killed
    worker are swept by `sweep_cgroups`.

    Raises EmulationUnavailable with the reason when the limits cannot be set.
    """
    if profile is None:
        yield None
        return
    disks = disks_behind(paths) if profile.throttles else ()
    if profile.throttles and not disks:
        raise ValueError("a throttle needs the path of what it is to hold back")
    with contextlib.ExitStack() as stack:
        groups = tuple(_make(where, run, stack) for where in _branches(profile))
        for group in groups:
            group.limit(profile, disks)
        yield CgroupLimits(profile, disks, groups)


def why_unavailable(profile: EmulationProfile, paths: Sequence[Path]) -> str:
    """The reason why the profile cannot be had here, "" when it can: by trying it for a moment."""
    try:
        with emulated_device(profile, paths, run="check") as limits:
            if limits is not None:
                _try_entering(limits)
    except EmulationUnavailable as error:
        return str(error)
    return ""


def _try_entering(limits: CgroupLimits) -> None:
    tried = run("true", entry=limits.entry_words)
    if tried.status != 0:
        raise not_entered(tried.output)


@dataclass(frozen=True)
class _Branch:
    hierarchy: Hierarchy
    controllers: tuple[str, ...]


def _branches(profile: EmulationProfile) -> list[_Branch]:
    """The trees to make a group in: one where both controllers share it, as in v2."""
    needed = [IO] if profile.throttles else []
    if profile.memory_bytes is not None:
        needed.append(MEMORY)
    by_tree: dict[Hierarchy, tuple[str, ...]] = {}
    for controller in needed:
        tree = find_hierarchy(controller)
        by_tree[tree] = (*by_tree.get(tree, ()), controller)
    return [_Branch(tree, controllers) for tree, controllers in by_tree.items()]


def _make(branch: _Branch, run: str, stack: contextlib.ExitStack) -> Group:
    parent = parent_for(branch.hierarchy, list(branch.controllers))
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", run)[:60]
    name = f"{PREFIX}{readable}.{secrets.token_hex(4)}"
    group = Group(parent / name, branch.hierarchy.version, branch.controllers)
    stack.callback(group.remove)  # before it exists: an interrupt may come in between
    while True:
        try:
            group.directory.mkdir()
        except OSError as error:
            raise EmulationUnavailable(
                f"cannot make a cgroup in {parent}: {error.strerror}"
            ) from error
        # A sweep in between takes it for a leftover; then it is made again.
        if (held := hold(group.directory)) is not None:
            stack.callback(os.close, held)
            if group.directory.exists():
                return group


def sweep_cgroups() -> list[Path]:
    """Remove every cgroup of ours that no process holds, and end what is still in it.

    Returns the groups that are gone.
    """
    trees: dict[Hierarchy, tuple[str, ...]] = {}
    for controller in (IO, MEMORY):
        with contextlib.suppress(EmulationUnavailable):
            tree = find_hierarchy(controller)
            trees[tree] = (*trees.get(tree, ()), controller)
    return [
        path
        for tree, controllers in trees.items()
        for path in _ours(tree.mount_point)
        if is_free(path) and Group(path, tree.version, controllers).remove()
    ]


def _ours(mount_point: Path) -> list[Path]:
    """Our cgroups in the whole tree: the worker that comes after may sit in another cgroup."""
    found = []
    for folder, names, _ in os.walk(mount_point):
        ours = [name for name in names if name.startswith(PREFIX)]
        found += [Path(folder, name) for name in ours]
        names[:] = [name for name in names if name not in ours]
    return found
