"""Whether a file system supports O_DIRECT, tested with a file of our own."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
from pathlib import Path

_BLOCK = 4096  # the largest logical block of a disk; mmap gives memory aligned to it
#: Errors of open() and write() where direct I/O does not exist.
_UNSUPPORTED = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}


def supports_direct_io(path: Path) -> bool | None:
    """Whether files in the directory `path` can be written around the page cache.

    Writes one block to a temporary file there, which is gone afterwards. None when it cannot be
    tried: no such directory, not writable, full.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=".advisor-direct-", dir=path)
    except OSError:
        return None
    try:
        os.close(descriptor)
        return _write_direct(name)
    except OSError as error:
        return False if error.errno in _UNSUPPORTED else None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _write_direct(name: str) -> bool:
    descriptor = os.open(name, os.O_WRONLY | os.O_DIRECT | os.O_NOFOLLOW)
    try:
        with mmap.mmap(-1, _BLOCK) as block:
            return os.write(descriptor, block) == _BLOCK
    finally:
        os.close(descriptor)
