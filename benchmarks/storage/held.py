"""Folders that are in use for as long as a process lives, also one of another container.

The holder has a lock on the folder itself. The kernel releases it when the holder dies, and all
containers of a machine see it, whatever their PID namespaces. NFS locks no folders; there, what
cannot be told counts as held.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ownership.deleting import delete

#: A folder gets its lock just after it is made; a younger one counts as held.
_LOCKED_AFTER_S = 5.0


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Mark a folder as in use for the length of the block; nothing happens where one cannot."""
    descriptor = hold(folder)
    try:
        yield
    finally:
        release(descriptor)


def hold(folder: Path) -> int | None:
    """Mark a folder as in use until `release`; None where it is held already, or cannot be."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def release(descriptor: int | None) -> None:
    """End what `hold` began."""
    if descriptor is not None:
        # Explicit, because close() is not enough: a forked process has the same open file.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make an empty folder that nobody ever sees without its lock; it is held for the block.

    What was there is deleted. Raises OSError: BlockingIOError if it is in use.
    """
    if folder.exists() and not is_free(folder):
        raise BlockingIOError(f"{folder} is in use")
    delete(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700)
    with held(draft):
        try:
            draft.rename(folder)
        except OSError:  # what was there could not be deleted
            draft.rmdir()
            raise
        yield


def is_free(folder: Path) -> bool:
    """Whether no process holds the folder; False if that cannot be told."""
    descriptor = hold(folder)
    release(descriptor)
    return descriptor is not None


def is_free_for_long(folder: Path) -> bool:
    """Like `is_free`, for a folder whose maker may not have got its lock yet."""
    try:
        age_s = time.time() - folder.stat().st_ctime
    except OSError:
        return False
    return age_s > _LOCKED_AFTER_S and is_free(folder)
