"""Processes that outlived the program that started them: found, and ended."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import psutil

log = logging.getLogger(__name__)

_PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h
#: Each process that is killed may have left others, which are ours only then.
_PATIENCE_S = 5.0
_END_S = 10.0


def find_by_argument(arguments: Collection[str]) -> list[psutil.Process]:
    """Return the processes that have exactly one of these arguments.

    Processes of containers are left out: the paths in their arguments are not ours.
    """
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if not set(arguments).isdisjoint(process.info["cmdline"] or ())
        and not _is_in_container(process.pid)
    ]


def end_by_argument(arguments: Collection[str]) -> bool:
    """SIGKILL the processes that have one of these arguments; return whether all are gone.

    No signal reaches another program: psutil sends none to a process that has taken over a pid.
    """
    for process in find_by_argument(arguments):
        try:
            process.kill()
            log.warning("killed %d, which outlived its worker", process.pid)
            process.wait(_END_S)
        except psutil.NoSuchProcess:
            continue
        except psutil.Error as error:  # another user's, or it waits for the disk
            log.error("process %d cannot be ended: %s", process.pid, error)
    return not find_by_argument(arguments)


@contextlib.contextmanager
def none_left_behind() -> Iterator[None]:
    """Have this process inherit what is orphaned below it, and kill that at the end of the block.

    A server can start a process that leaves its session and survives it. Such a process would be
    measured with every later run, and can hold what the next job needs: the machine's lock for
    measuring is a file that anybody may lock.

    Processes that are children of this one before the block stay. So the block's own programs
    have to end in it.
    """
    libc, us = ctypes.CDLL(None), psutil.Process()
    before = set(us.children())
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        deadline = time.monotonic() + _PATIENCE_S
        while (left := set(us.children()) - before) and time.monotonic() < deadline:
            for process in left:
                _end_child(process)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _end_child(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            log.warning("left behind and killed: %s %s", process.pid, process.name())
        process.kill()  # a zombie may have threads that go on, and is waited for as long
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, 0)


def _is_in_container(pid: int) -> bool:
    """Whether it has another pid in a namespace below ours."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    words = next((line for line in status.splitlines() if line.startswith("NSpid:")), "").split()
    return len(words) > 2
