"""The servers and folders of processes that were killed.

A worker killed with SIGKILL runs no clean-up. PR_SET_PDEATHSIG ends its mysqld in most cases. The
next worker finds every other one by the my.cnf that it was started with.
"""

from __future__ import annotations

import logging
from pathlib import Path

from benchmarks.ownership.deleting import delete
from benchmarks.ownership.held import free_folders
from benchmarks.processes.identity import find_by_argument, kill_checked

log = logging.getLogger(__name__)


def defaults_argument(run_dir: Path) -> str:
    """Return the first argument of a server that keeps its my.cnf in `run_dir`."""
    return f"--defaults-file={run_dir / 'my.cnf'}"


def end_servers(folder: Path) -> bool:
    """End every server whose my.cnf is in `folder` or one level below; whether all are gone.

    Containers' servers are left alone: the paths in their arguments are not ours.
    """
    run_dirs = [folder, *(path for path in folder.glob("*") if path.is_dir())]
    arguments = {defaults_argument(path) for path in run_dirs}
    found = find_by_argument(arguments)
    for pid, argument in found:
        try:
            if kill_checked(pid, argument):
                log.warning("killed server %d, which outlived its worker: %s", pid, argument)
        except PermissionError:
            log.error("server %d is another user's: %s", pid, argument)
    return not (found and find_by_argument(arguments))


def sweep_folders(parent: Path, pattern: str = "*") -> list[Path]:
    """Delete the folders in `parent` that no process holds, and end the servers in them.

    Returns the folders that are gone. Safe at any time and from several processes. A folder whose
    server cannot be ended stays for the next sweep.
    """
    gone = []
    for path in free_folders(parent, pattern):
        if end_servers(path):
            delete(path)
        if not path.exists():
            gone.append(path)
    return gone
