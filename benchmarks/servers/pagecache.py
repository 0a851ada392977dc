"""Making files cold: what another process left in the page cache would hide the device."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from benchmarks.ownership.walking import opened_directory, plain_files


def forget_cached(folder: Path) -> None:
    """Write back all files below `folder` and drop them from the page cache.

    Pages belong to the cgroup that first touched them. The clone that the worker has just written
    would be read from memory without a request to the device and without counting for the server.
    """
    with contextlib.suppress(FileNotFoundError), opened_directory(folder) as top:
        for file in plain_files(top):
            os.fsync(file)  # dirty pages cannot be dropped
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
