"""Control groups of both versions: what limits us, and where groups of ours may be made.

Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of the kernel.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.errors import EmulationUnavailable
from benchmarks.host.files import read_mounts, read_text

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


def parent_for(hierarchy: Hierarchy, controllers: list[str]) -> Path:
    """Return the cgroup to make ours in, as near to our own as can be: limits above hold too.

    A v2 group passes controllers on only if set to, which the kernel refuses while processes are
    in it. So the ancestors are tried too, and controllers are switched on where that is needed.
    ADVISOR_CGROUP names the only one to try, as /proc/self/cgroup spells it. Raises
    EmulationUnavailable with what stood in the way.
    """
    candidates = hierarchy.groups[:1] if hierarchy.version == 1 else hierarchy.groups
    if named := os.environ.get(CGROUP_VARIABLE):
        if ".." in Path(named).parts:
            raise EmulationUnavailable(f"{CGROUP_VARIABLE}={named} is not a cgroup's path")
        candidates = [hierarchy.mount_point / named.strip("/")]
    reasons = []
    for parent in candidates:
        try:
            _hand_on(parent, [] if hierarchy.version == 1 else controllers)
            return parent
        except OSError as error:
            reasons.append(f"{parent}: {error.strerror}")
    raise EmulationUnavailable(
        f"no cgroup for {' and '.join(controllers)} can be made ({'; '.join(reasons)}). Run the "
        f"worker as root or in a delegated cgroup, or name a cgroup that it may write to in "
        f"{CGROUP_VARIABLE} (docs/how-to/emulation.md)"
    )


def memory_limits(proc: Path | None = None) -> list[tuple[int, int]]:
    """Return (limit, used) in bytes of our own cgroup and of those above it that have a limit.

    File pages that were not used lately do not count as used: the kernel takes them back.
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
            found.append((int(limit), used - cache))
    return found


def memory_budget() -> int:
    """Return the bytes that this process and its children may use: RAM or a cgroup's limit.

    The smallest limit from our own group up to the root of the tree counts.
    """
    return min([host_memory(), *(limit for limit, _ in memory_limits())])


def available_memory() -> int:
    """Return the bytes that are free now, of the host's memory and below every cgroup's limit."""
    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *(limit - used for limit, used in memory_limits())]))


def host_memory() -> int:
    """Return the bytes of RAM that the kernel reports, which is what servers see."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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


def field_of(path: Path, name: str) -> int | None:
    """Return the number after `name` in a file of lines such as "oom_kill 0"; None without."""
    for line in read_text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return None


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


def _hand_on(parent: Path, controllers: list[str]) -> None:
    """Switch the v2 controllers on for the groups below; OSError if no group can be made there."""
    if not parent.is_dir():
        raise FileNotFoundError(0, "there is no such cgroup")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(0, "this user cannot write in it, or it is mounted read-only")
    control = parent / "cgroup.subtree_control"
    if set(controllers) <= _words(control):
        return
    if not set(controllers) <= _words(parent / "cgroup.controllers"):
        raise OSError(0, "it does not have all of these controllers itself")
    # All in one write: either all are switched on or none is.
    control.write_text(" ".join(f"+{name}" for name in controllers))
    if not set(controllers) <= _words(control):
        raise OSError(0, "it did not take them")


def _words(path: Path) -> set[str]:
    return set(read_text(path).split())
