"""Who holds a piece of work: a process of this host, named so that its death can be noticed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from benchmarks.servers.process import process_id


def claimant() -> str:
    """`host:pid:birth` of this process; the birth tells a reused pid apart.

    It is the same for the whole life of the process, also when the wall clock is set meanwhile.
    """
    birth = _birth(os.getpid())
    if birth is None:
        raise RuntimeError("/proc does not show this process; is it mounted?")
    return f"{settings.HOST_NAME}:{os.getpid()}:{birth}"


def is_dead(claim: str) -> bool:
    """True when `claim` is of this host and its process is gone; other hosts can't be judged."""
    host, _, pid = claim.rpartition(":")[0].rpartition(":")
    if host != settings.HOST_NAME or not pid.isdigit():
        return False
    return _birth(int(pid)) != claim.rpartition(":")[2]


def _birth(pid: int) -> str | None:
    """Boot and clock ticks since then; None for no process or a zombie."""
    found = process_id(pid)
    return None if found is None else f"{found.boot}+{found.started}"


@contextmanager
def host_lock(path: Path, *, should_stop: Callable[[], bool]) -> Iterator[bool]:
    """Hold this host's benchmark lock; yields False when told to stop while waiting.

    The kernel drops the lock when its holder dies, so it can not be left behind.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if should_stop():
                    yield False
                    return
                time.sleep(0.2)
            else:
                yield True
                return
    finally:
        os.close(descriptor)
