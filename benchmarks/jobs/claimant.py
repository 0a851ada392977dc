"""The process that does a job, so that its death can be detected, and the lock of its host."""

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

#: Seconds to wait for the host's lock. A worker that waited longer would not react to a request to
#: stop, and every sweep sends the message again.
LOCK_PATIENCE_S = 2.0


def claimant() -> str:
    """`host:pid:birth` of this process; the birth distinguishes a reused pid.

    It does not change during the life of the process, even if the wall clock is set.
    """
    birth = _birth(os.getpid())
    if birth is None:
        raise RuntimeError("/proc does not show this process; is it mounted?")
    return f"{settings.HOST_NAME}:{os.getpid()}:{birth}"


def is_of_this_host(claim: str) -> bool:
    """Whether `claim` names a process of this host; others cannot be checked."""
    host, _, pid = claim.rpartition(":")[0].rpartition(":")
    return host == settings.HOST_NAME and pid.isdigit()


def is_dead(claim: str) -> bool:
    """True if `claim` is of this host and its process is gone; False for other hosts."""
    if not is_of_this_host(claim):
        return False
    named, _, birth = claim.rpartition(":")
    return _birth(int(named.rpartition(":")[2])) != birth


def _birth(pid: int) -> str | None:
    """Boot and clock ticks since then; None if there is no process or a zombie."""
    found = process_id(pid)
    return None if found is None else f"{found.boot}+{found.started}"


def measuring_alone(*, patience_s: float = LOCK_PATIENCE_S) -> AbstractContextManager[bool]:
    """Hold this host's lock for measuring, one job at a time; False if it is taken."""
    return host_lock(settings.RUN_DIR / "benchmark.lock", patience_s=patience_s)


@contextmanager
def host_lock(path: Path, *, patience_s: float = inf) -> Iterator[bool]:
    """Hold a lock of this host; yields False if others held it for all of `patience_s`.

    The kernel releases the lock when its holder dies, so it cannot be left behind.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + patience_s
    try:
        while not (held := try_lock(descriptor)) and time.monotonic() < deadline:
            time.sleep(0.2)
        yield held
    finally:
        # Explicit, because close() is not enough: a forked process has the same open file.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
