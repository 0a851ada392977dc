"""Removes the cgroups of killed workers."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.emulation.groups import Group
from benchmarks.emulation.hierarchies import IO, MEMORY, Hierarchy, find_hierarchy
from benchmarks.emulation.names import PREFIX, is_abandoned
from benchmarks.errors import EmulationUnavailable


def sweep_cgroups() -> list[str]:
    """Remove every cgroup of ours whose owner is dead, and end what is still in it.

    Returns a line for each thing done. Called at worker start, after the servers of dead owners
    were reaped. Groups of live owners are left alone.
    """
    trees: dict[Hierarchy, tuple[str, ...]] = {}
    for controller in (IO, MEMORY):
        try:
            tree = find_hierarchy(controller)
        except EmulationUnavailable:
            continue
        trees[tree] = (*trees.get(tree, ()), controller)
    return [
        f"removed the cgroup {path}"
        for tree, controllers in trees.items()
        for path in _abandoned(tree.mount_point)
        if Group(path, tree.version, controllers).remove()
    ]


def _abandoned(mount_point: Path) -> list[Path]:
    """In the whole tree: the worker that comes after may sit in another cgroup."""
    found = []
    for folder, names, _ in os.walk(mount_point):
        ours = [name for name in names if name.startswith(PREFIX)]
        found += [Path(folder, name) for name in ours if is_abandoned(name)]
        names[:] = [name for name in names if name not in ours]
    return found
