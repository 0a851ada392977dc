"""Folders that one process holds for as long as it lives, also a process in another container.

The holder has a lock on the folder itself. The kernel releases the lock when the holder dies, and
all containers of a machine see it, whatever their PID namespaces. So a folder that nobody holds is
a leftover. NFS locks no folders: there, every folder counts as held.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ownership.deleting import delete


@contextlib.contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Make an empty folder, hold it for the block, and delete it afterwards.

    Nobody ever sees the folder without its lock. Deletes a leftover of that name first. Raises
    OSError: BlockingIOError if the folder is in use.
    """
    if folder.exists() and not is_free(folder):
        raise BlockingIOError(f"{folder} is in use")
    delete(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700)
    held = hold(draft)
    try:
        try:
            draft.rename(folder)
        except OSError:  # what was there could not be deleted
            draft.rmdir()
            raise
        try:
            yield
        finally:
            delete(folder)
    finally:
        # Explicit, because close() is not enough: a forked process has the same open file.
        if held is not None:
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)


def hold(folder: Path) -> int | None:
    """Hold a folder until the returned descriptor is closed; None if another process holds it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_free(folder: Path) -> bool:
    """Whether no process holds the folder; False if that cannot be told."""
    descriptor = hold(folder)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def free_folders(parent: Path, pattern: str = "*") -> Iterator[Path]:
    """Yield the folders in `parent` that nobody holds; none if it cannot be read.

    Each is held until the next one is asked for, so that nobody takes it meanwhile. Links and
    drafts are left out.
    """
    try:
        found = sorted(path for path in parent.glob(pattern) if not path.name.startswith("."))
    except OSError:
        return
    for path in found:
        if (held := hold(path)) is not None:
            try:
                yield path
            finally:
                os.close(held)
