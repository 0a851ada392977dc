"""Names of processes, and the locks of a home and its machine.

One job at a time is done in a home, under the home's lock. So a job that a process of this home
claimed is dead once the lock is free: nobody looks for the process.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from math import inf
from pathlib import Path

from django.conf import settings

from benchmarks.datasets.shared_folders import try_lock

#: Seconds to wait for the home's lock. A worker that waited longer would not react to a request to
#: stop, and every sweep sends the message again.
LOCK_PATIENCE_S = 2.0

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def this_process() -> str:
    """Return a name of this process: `<boot>.<device>.<inode>.<pid>.<token>`.

    The first three are its home. No other process ever has the same name, on any machine and in
    any container.
    """
    return f"{_home()}{os.getpid()}.{_token(os.getpid())}"


def is_of_this_home(process: str) -> bool:
    """Whether the process is of this home and was started since the machine was booted."""
    return process.startswith(_home())


@contextmanager
def measuring_alone(*, patience_s: float = LOCK_PATIENCE_S) -> Iterator[bool]:
    """Hold the machine for measuring, one job at a time; False if it is taken.

    Two locks: that of this home, whose files only one process may change, and that of the
    machine, for other homes and containers on it.
    """
    with ExitStack() as locks:
        yield locks.enter_context(home_lock(patience_s=patience_s)) and locks.enter_context(
            host_lock(settings.MEASURING_LOCK, patience_s=patience_s)
        )


def home_lock(*, patience_s: float = LOCK_PATIENCE_S) -> AbstractContextManager[bool]:
    """Hold this home's lock, under which jobs are done and their unstored endings are read."""
    return host_lock(settings.RUN_DIR / "benchmark.lock", patience_s=patience_s)


@contextmanager
def host_lock(path: Path, *, patience_s: float = inf) -> Iterator[bool]:
    """Hold a lock of this host; yields False if others held it for all of `patience_s`.

    The file is made if need be. The kernel releases the lock when its holder dies, so it cannot be
    left behind.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)  # some files are the kernel's own
    except FileNotFoundError:
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


def _home() -> str:
    """Return how this home's names begin: no two homes have one inode while a machine is up."""
    found = settings.RUN_DIR.stat()
    return f"{_BOOT_ID.read_text().strip()}.{found.st_dev}.{found.st_ino}."


@cache
def _token(_pid: int) -> str:
    """Return a word for the process with this pid: a pid alone may be given out again."""
    return secrets.token_hex(8)
