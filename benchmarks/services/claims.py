"""Who holds a piece of work: a process of this host, named so that its death can be noticed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from django.conf import settings


def claimant() -> str:
    """`host:pid:start time` of this process; the start time tells a reused pid apart."""
    process = psutil.Process()
    return f"{settings.HOST_NAME}:{process.pid}:{process.create_time():.2f}"


def is_dead(claim: str) -> bool:
    """True when `claim` is of this host and its process is gone; other hosts can't be judged."""
    host, _, rest = claim.rpartition(":")[0].rpartition(":")
    started = claim.rpartition(":")[2]
    if host != settings.HOST_NAME or not rest.isdigit():
        return False
    try:
        process = psutil.Process(int(rest))
        return f"{process.create_time():.2f}" != started or process.status() == "zombie"
    except psutil.NoSuchProcess:
        return True


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
