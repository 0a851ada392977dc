"""Files and trees that another user may change meanwhile: by descriptors, never by names."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

#: Neither a link is followed nor a FIFO waited for.
AS_IT_IS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: Servers need three levels of folders; one descriptor is open for each.
MAX_DEPTH = 32


@contextlib.contextmanager
def opened(name: str | os.PathLike[str], flags: int, dir_fd: int | None = None) -> Iterator[int]:
    """A descriptor of `name` (in the directory `dir_fd`), itself and not what it may link to."""
    descriptor = os.open(name, flags | AS_IT_IS, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def opened_directory(
    name: str | os.PathLike[str], dir_fd: int | None = None
) -> contextlib.AbstractContextManager[int]:
    """A directory; OSError (ENOTDIR, ELOOP) when there is something else."""
    return opened(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd)


def plain_files(directory: int, depth: int = 0) -> Iterator[int]:
    """Descriptors, to read, of the plain files below an open directory; all else is passed over.

    Each is closed when the next one is asked for.
    """
    with os.scandir(directory) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in names:
        if is_directory and depth == MAX_DEPTH:
            continue
        # It may be gone, or something else by now.
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            if is_directory:
                below = stack.enter_context(opened_directory(name, directory))
                yield from plain_files(below, depth + 1)
                continue
            file = stack.enter_context(opened(name, os.O_RDONLY, directory))
            if stat.S_ISREG(os.fstat(file).st_mode):
                yield file


def forget_cached(folder: Path) -> None:
    """Write back all files below `folder` and drop them from the page cache.

    Pages belong to the cgroup that first touched them. The clone that the worker has just written
    would be read from memory without a request to the device and without counting for the server.
    """
    with contextlib.suppress(FileNotFoundError), opened_directory(folder) as top:
        for file in plain_files(top):
            os.fsync(file)  # dirty pages cannot be dropped
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


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
