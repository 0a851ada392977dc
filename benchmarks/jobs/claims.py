"""Who holds a piece of work: a process of this host, named so that its death can be noticed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from math import inf
from pathlib import Path

from django.conf import settings

from benchmarks.datasets.shared_folders import try_lock
from benchmarks.servers.process import process_id

#: Whoever is told to measure while something else does gives up so soon, in seconds: a worker
#: that waited would not hear that it is to end, and the message is sent again by every sweep.
LOCK_PATIENCE_S = 2.0


def claimant() -> str:
    """`host:pid:birth` of this process; the birth tells a reused pid apart.

    It is the same for the whole life of the process, also when the wall clock is set meanwhile.
    """
    birth = _birth(os.getpid())
    if birth is None:
        raise RuntimeError("/proc does not show this process; is it mounted?")
    return f"{settings.HOST_NAME}:{os.getpid()}:{birth}"


def is_of_this_host(claim: str) -> bool:
    """Whether `claim` names a process of this host: only those can be looked for."""
    host, _, pid = claim.rpartition(":")[0].rpartition(":")
    return host == settings.HOST_NAME and pid.isdigit()


def is_dead(claim: str) -> bool:
    """True when `claim` is of this host and its process is gone; other hosts can't be judged."""
    if not is_of_this_host(claim):
        return False
    named, _, birth = claim.rpartition(":")
    return _birth(int(named.rpartition(":")[2])) != birth


def _birth(pid: int) -> str | None:
    """Boot and clock ticks since then; None for no process or a zombie."""
    found = process_id(pid)
    return None if found is None else f"{found.boot}+{found.started}"


def measuring_alone(*, patience_s: float = LOCK_PATIENCE_S) -> AbstractContextManager[bool]:
    """Hold the lock of all that measures on this host, one at a time; False where it is taken."""
    return host_lock(settings.RUN_DIR / "benchmark.lock", patience_s=patience_s)


@contextmanager
def host_lock(path: Path, *, patience_s: float = inf) -> Iterator[bool]:
    """Hold a lock of this host; yields False when others held it for all of `patience_s`.

    The kernel drops the lock when its holder dies, so it can not be left behind.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + patience_s
    try:
        while not (held := try_lock(descriptor)) and time.monotonic() < deadline:
            time.sleep(0.2)
        yield held
    finally:
        # Said, not left to close(): a process forked meanwhile has the same open file.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
