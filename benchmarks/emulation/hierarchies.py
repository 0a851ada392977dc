"""Where the kernel's cgroup controllers are, and below which group ours may be made."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import EmulationUnavailable
from benchmarks.storage.host import read_text

PROC = Path("/proc")
CGROUP_VARIABLE = "ADVISOR_CGROUP"

IO, MEMORY = "io", "memory"
_V1_NAMES = {IO: "blkio", MEMORY: "memory"}


@dataclass(frozen=True)
class Hierarchy:
    """A mounted tree of cgroups: `version` 1 or 2, `own` the directory of our own cgroup."""

    version: int
    mount_point: Path
    own: Path


def find_hierarchy(controller: str) -> Hierarchy:
    """The tree that has the controller IO or MEMORY.

    A controller is in one tree only: v2, or one of v1. Raises EmulationUnavailable when this
    kernel or container shows it in none.
    """
    v1_name = _V1_NAMES[controller]
    for line in read_text(PROC / "self/mountinfo").splitlines():
        fields = line.split(" ")
        root, mount = fields[3], Path(fields[4])
        file_system, _, options = fields[fields.index("-", 6) + 1 :][:3]
        if file_system == "cgroup2" and controller in _words(mount / "cgroup.controllers"):
            return Hierarchy(2, mount, _own(mount, root, ""))
        if file_system == "cgroup" and v1_name in options.split(","):
            return Hierarchy(1, mount, _own(mount, root, v1_name))
    raise EmulationUnavailable(
        f"no cgroup controller for {_WHAT[controller]} here: the kernel or the container shows "
        f"neither {controller} of cgroup v2 nor {v1_name} of v1"
    )


def parent_for(hierarchy: Hierarchy, controllers: list[str]) -> Path:
    """The cgroup to make ours in, as near to our own as can be, so that limits above hold too.

    In v2 a group passes controllers on only if set to, and none but the root may do that while
    processes are in it: hence the ancestors are tried, and where it is allowed and needed the
    controllers are switched on. ADVISOR_CGROUP names the only one to try, as /proc/self/cgroup
    spells it. Raises EmulationUnavailable with what stood in the way.
    """
    candidates = _candidates(hierarchy)
    if hierarchy.version == 1:
        parent = candidates[0]
        _check_writable(parent)
        return parent
    for parent in candidates:
        if _may_make(parent) and set(controllers) <= _handed_on(parent):
            return parent
    reasons = []
    for parent in candidates:
        reason = _hand_on(parent, controllers)
        if reason is None:
            return parent
        reasons.append(reason)
    raise EmulationUnavailable(
        f"no cgroup delegates {' and '.join(controllers)}: {'; '.join(reasons)}. Run the worker "
        "as root, or in a delegated cgroup (docs/how-to/emulation.md)"
    )


def _candidates(hierarchy: Hierarchy) -> list[Path]:
    named = os.environ.get(CGROUP_VARIABLE)
    if named:
        if ".." in Path(named).parts:
            raise EmulationUnavailable(f"{CGROUP_VARIABLE}={named} is not a cgroup's path")
        return [hierarchy.mount_point / named.strip("/")]
    if hierarchy.version == 1:
        return [hierarchy.own]
    above = [p for p in hierarchy.own.parents if p.is_relative_to(hierarchy.mount_point)]
    return [hierarchy.own, *above]


def _own(mount_point: Path, root: str, v1_name: str) -> Path:
    """The directory of our cgroup in a tree; its top where a container hides what is above.

    `root` is the cgroup that is mounted: in a container perhaps its own, not the host's top.
    """
    for line in read_text(PROC / "self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if v1_name in names.split(","):
            own = mount_point / path.removeprefix(root).strip("/")
            return own if ".." not in own.parts and own.is_dir() else mount_point
    return mount_point


def _hand_on(parent: Path, controllers: list[str]) -> str | None:
    """Switch the controllers on for the groups below; the reason when that cannot be."""
    if not _may_make(parent):
        return _not_writable(parent)
    missing = [name for name in controllers if name not in _words(parent / "cgroup.controllers")]
    if missing:
        return f"{parent} does not have {' and '.join(missing)} itself"
    try:
        # All in one write: either all are switched on or none is.
        (parent / "cgroup.subtree_control").write_text(
            " ".join(f"+{name}" for name in controllers)
        )
    except OSError as error:
        why = "processes are in it" if error.errno == errno.EBUSY else error.strerror
        return f"{parent} cannot hand them on ({why})"
    return None if set(controllers) <= _handed_on(parent) else f"{parent} did not take them"


def _check_writable(parent: Path) -> None:
    if not parent.is_dir():
        raise EmulationUnavailable(f"there is no cgroup {parent}")
    if not _may_make(parent):
        raise EmulationUnavailable(
            f"{_not_writable(parent)}. Run the worker as root, or name a cgroup that it may "
            f"write to in {CGROUP_VARIABLE} (docs/how-to/emulation.md)"
        )


def _may_make(parent: Path) -> bool:
    return os.access(parent, os.W_OK | os.X_OK)


def _not_writable(parent: Path) -> str:
    if not parent.is_dir():
        return f"there is no cgroup {parent}"
    if os.statvfs(parent).f_flag & os.ST_RDONLY:
        return f"{parent} is mounted read-only, as containers have it"
    return f"this user cannot write in {parent}"


def _handed_on(parent: Path) -> set[str]:
    return _words(parent / "cgroup.subtree_control")


def _words(path: Path) -> set[str]:
    return set(read_text(path).split())


_WHAT = {IO: "I/O", MEMORY: "memory"}
