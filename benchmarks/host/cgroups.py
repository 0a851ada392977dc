"""Control groups: which tree has a controller, what limits us, and where ours may be made.

Both versions: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of the kernel.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import EmulationUnavailable
from benchmarks.host.files import read_text
from benchmarks.host.mounts import read_mounts

PROC = Path("/proc")
CGROUP_VARIABLE = "ADVISOR_CGROUP"

IO, MEMORY, CPU = "io", "memory", "cpu"
_V1_NAMES = {IO: "blkio", MEMORY: "memory", CPU: "cpu"}
# cgroup v1 writes "no limit" as the largest multiple of a page that fits.
_UNLIMITED_BYTES = 1 << 60


@dataclass(frozen=True)
class Hierarchy:
    """A mounted tree of cgroups: `version` 1 or 2, `own` the directory of our own cgroup."""

    version: int
    mount_point: Path
    own: Path

    @property
    def groups(self) -> list[Path]:
        """Our own cgroup and all above it that are mounted."""
        above = [path for path in self.own.parents if path.is_relative_to(self.mount_point)]
        return [self.own, *above]


@dataclass(frozen=True)
class MemoryLimit:
    """The limit of one cgroup in bytes, and what is used of it and cannot be reclaimed at once."""

    limit: int
    used: int


def find_hierarchy(controller: str, proc: Path | None = None) -> Hierarchy:
    """Return the tree that has the controller IO, MEMORY or CPU.

    A controller is in one tree only: v2, or one of v1. Raises EmulationUnavailable when this
    kernel or container shows it in none.
    """
    proc = proc or PROC
    v1_name = _V1_NAMES[controller]
    for mount in read_mounts(proc / "self/mountinfo"):
        top = Path(mount.mount_point)
        if mount.file_system == "cgroup2" and controller in _words(top / "cgroup.controllers"):
            return Hierarchy(2, top, _own(proc, top, mount.root, ""))
        if mount.file_system == "cgroup" and v1_name in mount.super_options:
            return Hierarchy(1, top, _own(proc, top, mount.root, v1_name))
    raise EmulationUnavailable(
        f"no cgroup controller for {controller} here: the kernel or the container shows "
        f"neither {controller} of cgroup v2 nor {v1_name} of v1"
    )


def memory_limits(proc: Path | None = None) -> list[MemoryLimit]:
    """Return the memory limits of our own cgroup and of those above it.

    File pages that were not used lately do not count as used.
    """
    try:
        tree = find_hierarchy(MEMORY, proc)
    except EmulationUnavailable:
        return []
    limit_file, used_file, reclaimable = (
        ("memory.max", "memory.current", "inactive_file")
        if tree.version == 2
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
    found = []
    for group in tree.groups:
        limit = read_text(group / limit_file)
        if limit.isdigit() and int(limit) < _UNLIMITED_BYTES:
            used = int(read_text(group / used_file) or 0)
            cache = field_of(group / "memory.stat", reclaimable) or 0
            found.append(MemoryLimit(int(limit), used - cache))
    return found


def cpu_limit(proc: Path | None = None) -> float | None:
    """Return the smallest limit of our own cgroup and those above it, in CPUs; None without."""
    try:
        tree = find_hierarchy(CPU, proc)
    except EmulationUnavailable:
        return None
    found = []
    for group in tree.groups:
        quota, _, period = read_text(group / "cpu.max").partition(" ")
        if tree.version == 1:
            quota, period = (
                read_text(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")
            )
        if quota.isdigit() and period.isdigit() and int(period):
            found.append(int(quota) / int(period))
    return min(found, default=None)


def parent_for(hierarchy: Hierarchy, controllers: list[str]) -> Path:
    """Return the cgroup to make ours in, as near to our own as can be: limits above hold too.

    In v2 a group passes controllers on only if set to, and none but the root may do that while
    processes are in it: hence the ancestors are tried, and where it is allowed and needed the
    controllers are switched on. ADVISOR_CGROUP names the only one to try, as /proc/self/cgroup
    spells it. Raises EmulationUnavailable with what stood in the way.
    """
    candidates = _candidates(hierarchy)
    reasons = [_why_not(parent) for parent in candidates]
    writable = [parent for parent, why in zip(candidates, reasons, strict=True) if not why]
    if hierarchy.version == 1:
        if not writable:
            raise EmulationUnavailable(
                f"{reasons[0]}. Run the worker as root, or name a cgroup that it may "
                f"write to in {CGROUP_VARIABLE} (docs/how-to/emulation.md)"
            )
        return writable[0]
    for parent in writable:
        if set(controllers) <= _words(parent / "cgroup.subtree_control"):
            return parent
    reasons = []
    for parent in candidates:
        if not (reason := _hand_on(parent, controllers)):
            return parent
        reasons.append(reason)
    raise EmulationUnavailable(
        f"no cgroup delegates {' and '.join(controllers)}: {'; '.join(reasons)}. Run the worker "
        "as root, or in a delegated cgroup (docs/how-to/emulation.md)"
    )


def field_of(path: Path, name: str) -> int | None:
    """Return the number after `name` in a file of lines such as "oom_kill 0"; None without."""
    for line in read_text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return None


def _candidates(hierarchy: Hierarchy) -> list[Path]:
    named = os.environ.get(CGROUP_VARIABLE)
    if not named:
        return hierarchy.groups[:1] if hierarchy.version == 1 else hierarchy.groups
    if ".." in Path(named).parts:
        raise EmulationUnavailable(f"{CGROUP_VARIABLE}={named} is not a cgroup's path")
    return [hierarchy.mount_point / named.strip("/")]


def _own(proc: Path, mount_point: Path, root: str, v1_name: str) -> Path:
    """The directory of our cgroup in a tree; its top where a container hides what is above.

    `root` is the cgroup that is mounted: in a container perhaps its own, not the host's top.
    """
    for line in read_text(proc / "self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if v1_name in names.split(","):
            own = mount_point / path.removeprefix(root).strip("/")
            return own if ".." not in own.parts and own.is_dir() else mount_point
    return mount_point


def _hand_on(parent: Path, controllers: list[str]) -> str:
    """Switch the controllers on for the groups below; the reason when that cannot be."""
    if why := _why_not(parent):
        return why
    missing = [name for name in controllers if name not in _words(parent / "cgroup.controllers")]
    if missing:
        return f"{parent} does not have {' and '.join(missing)} itself"
    control = parent / "cgroup.subtree_control"
    try:
        # All in one write: either all are switched on or none is.
        control.write_text(" ".join(f"+{name}" for name in controllers))
    except OSError as error:
        busy = error.errno == errno.EBUSY
        return (
            f"{parent} cannot hand them on ({'processes are in it' if busy else error.strerror})"
        )
    return "" if set(controllers) <= _words(control) else f"{parent} did not take them"


def _why_not(parent: Path) -> str:
    """Why no cgroup can be made in `parent`; "" if one can."""
    if not parent.is_dir():
        return f"there is no cgroup {parent}"
    if os.access(parent, os.W_OK | os.X_OK):
        return ""
    if os.statvfs(parent).f_flag & os.ST_RDONLY:
        return f"{parent} is mounted read-only, as containers have it"
    return f"this user cannot write in {parent}"


def _words(path: Path) -> set[str]:
    return set(read_text(path).split())
