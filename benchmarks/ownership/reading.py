"""Reading a file that another user wrote, or put something else in the place of."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from benchmarks.ownership.walking import AS_IT_IS


def open_plain(path: Path, uid: int) -> IO[bytes]:
    """A plain file of the user `uid`, opened to read; its folder's parent is ours.

    OSError for anything else: a link of either kind, which may lead to what only we may read, a
    pipe, on which we would wait, a device, another's file.
    """
    descriptor = os.open(path, os.O_RDONLY | AS_IT_IS)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid != uid:
        os.close(descriptor)
        raise PermissionError(f"{path} is not a plain file of the user {uid}")
    return os.fdopen(descriptor, "rb")
