"""How much memory a server may use: the host's, or less if control groups limit us."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.emulation.hierarchies import MEMORY, find_hierarchy
from benchmarks.errors import EmulationUnavailable


@dataclass(frozen=True)
class _Files:
    """Limit, use, and the line of memory.stat with what can be reclaimed at once."""

    limit: str
    used: str
    reclaimable: str


# Version of control groups -> Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
_FILES = {
    1: _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: _Files("memory.max", "memory.current", "inactive_file"),
}


def memory_budget() -> int:
    """Bytes that this process and its children may use: RAM or a control group's limit.

    The smallest limit from our own group up to the root of the tree counts; in a container its own
    group is the root. What cannot be read is no limit.
    """
    return min([host_memory(), *(limit for limit, _ in _limits())])


def available_memory() -> int:
    """Bytes that are free now, of the host's memory and below every limit of `memory_budget`.

    File pages that were not used lately count as free, as in the kernel's figure for the host.
    """
    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *(limit - used for limit, used in _limits())]))


def host_memory() -> int:
    """Bytes of RAM that the kernel reports, which is what servers see."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _limits() -> Iterator[tuple[int, int]]:
    """Limit and use in bytes of each control group that has a limit, our own first."""
    try:
        tree = find_hierarchy(MEMORY)
    except EmulationUnavailable:
        return
    files = _FILES[tree.version]
    for group in (tree.own, *tree.own.parents):
        if (limit := _number(group / files.limit)) is not None:
            used = _number(group / files.used) or 0
            yield limit, used - _reclaimable(group, files.reclaimable)
        if group == tree.mount_point:
            break


def _reclaimable(group: Path, name: str) -> int:
    try:
        lines = (group / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)


def _number(path: Path) -> int | None:
    """Bytes; None for "max" and for a missing file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
