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
    libc, us = ctypes.CDLL(None), psutil.Process()
    before = set(us.children())
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        deadline = time.monotonic() + _PATIENCE_S
        while (left := set(us.children()) - before) and time.monotonic() < deadline:
            for process in left:
                _end(process)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _end(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            logger.warning("left behind and killed: %s %s", process.pid, process.name())
        process.kill()  # a zombie may have threads that go on, and is waited for as long
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, 0)
