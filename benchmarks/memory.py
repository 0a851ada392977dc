"""How much memory a server may use: the host's, or less where a control group confines us."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CGROUP_ROOT = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def memory_budget(root: Path = _CGROUP_ROOT, own_groups: Path = _OWN_GROUPS) -> int:
    """Bytes that this process and its children may use: RAM or a control group's limit.

    The smallest limit from our own group up to the root counts, version 2 (`memory.max`) and 1
    (`memory.limit_in_bytes`); in a container our own group is the root. What cannot be read
    limits nothing.
    """
    return min([host_memory(), *_limits(root, own_groups)])


def host_memory() -> int:
    """Bytes of RAM that the kernel has, which is what servers see."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _limits(root: Path, own_groups: Path) -> Iterator[int]:
    for base, name, group in _groups(root, own_groups):
        folder = base / group.strip("/")
        for place in (folder, *folder.parents):
            limit = _read(place / name)
            if limit is not None:
                yield limit
            if place == base:
                break


def _groups(root: Path, own_groups: Path) -> Iterator[tuple[Path, str, str]]:
    """(mount, name of the limit's file, our group) of both versions."""
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:
        lines = []
    # Inside a container the path is the host's and does not exist below the mount; the root does.
    yield root, "memory.max", ""
    yield root / "memory", "memory.limit_in_bytes", ""
    for line in lines:
        fields = line.split(":", 2)
        if len(fields) < 3:
            continue
        controllers, group = fields[1:]
        if ".." in group.split("/"):  # outside of our namespace
            continue
        if not controllers:
            yield root, "memory.max", group
        elif "memory" in controllers.split(","):
            yield root / "memory", "memory.limit_in_bytes", group


def _read(path: Path) -> int | None:
    """A limit in bytes; None for "max" and what is not there."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
