"""Making files cold: what another process left in the page cache would hide the device."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def forget_cached(folder: Path) -> None:
    """Write back all files below `folder` and drop them from the page cache.

    Pages belong to the cgroup that first touched them. The clone that the worker has just written
    would be read from memory without a request to the device and without counting for the server.
    """
    for directory, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                _forget(Path(directory, name))


def _forget(path: Path) -> None:
    if path.is_symlink() or not path.is_file():
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)  # dirty pages cannot be dropped
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
