"""Orphans of a job: processes that outlived the program that started them.

A server can start a process that leaves its session and survives it. Such a process would be
measured with every later run, and can hold what the next job needs: the machine's lock for
measuring is a file that anybody may lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import time
from collections.abc import Iterator

import psutil

logger = logging.getLogger(__name__)

_PR_SET_CHILD_SUBREAPER = 36  # of linux/prctl.h
#: Each process that is killed may have left others, which are ours only then.
_PATIENCE_S = 5.0


@contextlib.contextmanager
def none_left_behind() -> Iterator[None]:
    """Have this process inherit what is orphaned below it, and kill that at the end of the block.

    Processes that are children of this one before the block stay. So the block's own programs
    have to end in it.
    """
    libc = ctypes.CDLL(None)
    before = {process.pid for process in _children()}
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        deadline = time.monotonic() + _PATIENCE_S
        while (left := _children_but(before)) and time.monotonic() < deadline:
            for process in left:
                _end(process)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _children_but(known: set[int]) -> list[psutil.Process]:
    return [process for process in _children() if process.pid not in known]


def _children() -> list[psutil.Process]:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # none, as nearly always: to look through /proc takes much longer
        return []
    return psutil.Process().children()


def _end(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            logger.warning("left behind and killed: %s %s", process.pid, process.name())
        process.kill()  # a zombie may have threads that go on, and is waited for as long
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, 0)
