"""How much memory a server may use: the host's, or less if control groups limit us."""

from __future__ import annotations

import os

import psutil

from benchmarks.host.cgroups import memory_limits


def memory_budget() -> int:
    """Return the bytes that this process and its children may use: RAM or a cgroup's limit.

    The smallest limit from our own group up to the root of the tree counts; in a container its own
    group is the root. What cannot be read is no limit.
    """
    return min([host_memory(), *(found.limit for found in memory_limits())])


def available_memory() -> int:
    """Return the bytes that are free now, of the host's memory and below every cgroup's limit.

    File pages that were not used lately count as free, as in the kernel's figure for the host.
    """
    free = int(psutil.virtual_memory().available)
    return max(0, min([free, *(found.limit - found.used for found in memory_limits())]))


def host_memory() -> int:
    """Return the bytes of RAM that the kernel reports, which is what servers see."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
