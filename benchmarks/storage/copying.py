"""Copies a data directory: by reflink where the file system can, else past the page cache."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import open_plain
from benchmarks.storage.reserve import require_room

_FICLONE = 0x40049409  # _IOW(0x94, 9, int) of linux/fs.h
_CHUNK = 16 << 20
_NO_REFLINK = {
    *(errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV),
    *(errno.EINVAL, errno.ENOSYS, errno.EPERM),
}


def copy_tree(
    source: Path,
    place: Callable[[Path], Path],
    should_stop: Callable[[], bool],
    *,
    through_cache: bool = False,
) -> None:
    """Copy everything below `source`; `place` gives the target of each path relative to it.

    Folders and files are made for us alone. With `through_cache` the copy is left in the page
    cache; else it is written past the cache, where the file system allows that.

    Raises LoadFailed for a link; RunFailed: CANCELLED, DISK_FULL when a file system without
    reflinks has no room for all of it; OSError.
    """
    device, has_reflinks = place(Path()).parent, True
    for path in (source, *walk(source)):
        target = place(path.relative_to(source))
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            target.chmod(0o700)
            continue
        with open_plain(path, path.lstat().st_uid) as reading, _new(target) as writing:
            files = reading.fileno(), writing.fileno()
            if has_reflinks and not (has_reflinks := _reflink(*files)):
                require_room(device, directory_bytes(source), "a copy of the dataset")
            if not has_reflinks:
                _copy(*files, should_stop, through_cache)


def settle(directory: Path, should_stop: Callable[[], bool]) -> None:
    """Wait until every file below `directory` is on the disk, then drop it from the page cache.

    Raises RunFailed (CANCELLED).
    """
    for path in walk(directory):
        if path.is_dir():
            continue
        _poll(should_stop)
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def walk(directory: Path) -> Iterator[Path]:
    """Yield everything below `directory`, folders before their files. LoadFailed for a link."""
    for path in sorted(directory.iterdir()):
        if path.is_symlink():
            raise LoadFailed(f"{path} is a link, which no golden copy holds")
        yield path
        if path.is_dir():
            yield from walk(path)


def directory_bytes(path: Path) -> int:
    """Return the sum of the file sizes below `path`."""
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, files in os.walk(path)
        for name in files
    )


def _new(path: Path) -> IO[bytes]:
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _reflink(reading: int, writing: int) -> bool:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno not in _NO_REFLINK:
            raise
        return False
    return True


def _copy(
    reading: int, writing: int, should_stop: Callable[[], bool], through_cache: bool
) -> None:
    size, offset = os.fstat(reading).st_size, 0
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    is_direct = not through_cache and size % mmap.PAGESIZE == 0
    while offset < size:
        _poll(should_stop)
        length = min(_CHUNK, size - offset)
        if is_direct:
            try:
                fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_DIRECT)
                offset += _write_mapped(reading, writing, offset, length)
                continue
            except OSError as error:  # some file systems refuse the flag, some the first write
                if error.errno != errno.EINVAL:
                    raise
                fcntl.fcntl(writing, fcntl.F_SETFL, flags)
                is_direct = False
        sent = os.sendfile(writing, reading, offset, length)
        if sent == 0:
            raise _became_shorter()
        if not through_cache:
            # Starts the write-back of this part while the next one is being read.
            os.posix_fadvise(writing, offset, sent, os.POSIX_FADV_DONTNEED)
        offset += sent


def _write_mapped(reading: int, writing: int, offset: int, length: int) -> int:
    """Write a part of one file to the other from the kernel's own pages; return the bytes.

    The part is neither copied in memory, nor is anything left to write back.
    """
    try:
        part = mmap.mmap(
            reading, length, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ, offset=offset
        )
    except ValueError as error:
        raise _became_shorter() from error
    with part, memoryview(part) as view:
        return os.write(writing, view)


def _became_shorter() -> RunFailed:
    return RunFailed(Outcome.CRASHED, "a file of the golden copy became shorter")


def _poll(should_stop: Callable[[], bool]) -> None:
    if should_stop():
        raise RunFailed(Outcome.CANCELLED, "cancelled while data was being copied")
