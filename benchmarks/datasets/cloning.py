"""Copies of a golden data directory, one for each run."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from benchmarks.datasets.golden import Dataset
from benchmarks.datasets.progress import never
from benchmarks.datasets.statements import cancelled
from benchmarks.errors import NO_SPACE_ERRNOS, LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.reading import open_plain
from benchmarks.storage.human import human_bytes
from benchmarks.storage.reserve_watch import require_room

Method = Literal["reflink", "copy"]

#: The redo log: a folder since MySQL 8.0.30, files before and in MariaDB.
_REDO = re.compile(r"#innodb_redo|ib_logfile\d+")
_FICLONE = 0x40049409  # _IOW(0x94, 9, int) of linux/fs.h
_CHUNK = 16 << 20
_NO_REFLINK = {
    errno.EOPNOTSUPP,
    errno.ENOTTY,
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EPERM,
}


@dataclass(frozen=True)
class CloneReport:
    """How long a clone took, until it was safely on the disk, and how it was made."""

    seconds: float
    bytes: int
    method: Method


def clone(
    dataset: Dataset,
    data_dir: Path,
    *,
    log_dir: Path | None = None,
    should_stop: Callable[[], bool] = never,
) -> CloneReport:
    """Copy the golden data directory to `data_dir`; the redo log goes to `log_dir` if given.

    Both are made if absent and must be empty. Nobody but us can read the clone; it is given to the
    server's user when its server is started. When this returns everything is on the disk and out
    of the page cache: no write-back of ours disturbs the run, and a server that reads through the
    page cache starts as cold as one that does not. Raises LoadFailed for a golden copy that is
    none, RunFailed: DISK_FULL, CANCELLED; on failure nothing is left.
    """
    start = time.monotonic()
    source = dataset.data_dir
    directories = [data_dir, *([log_dir] if log_dir is not None else [])]
    for directory in directories:
        if directory.exists() and any(directory.iterdir()):
            raise FileExistsError(f"{directory} is not empty")
    copier = _Copier(data_dir.parent, dataset.bytes, should_stop)
    directory = data_dir
    try:
        for directory in directories:
            copier.folder(directory)
        for path in _walk(source):
            relative = path.relative_to(source)
            is_redo = _REDO.fullmatch(relative.parts[0]) is not None
            directory = log_dir if is_redo and log_dir is not None else data_dir
            if path.is_dir():
                copier.folder(directory / relative)
            else:
                copier.file(path, directory / relative)
        for directory in directories:
            copier.settle(directory)
    except BaseException as error:
        for made in directories:
            delete(made)
        if isinstance(error, OSError) and error.errno in NO_SPACE_ERRNOS:
            free = human_bytes(shutil.disk_usage(directory.parent).free)
            raise RunFailed(
                Outcome.DISK_FULL,
                f"{directory.parent}: no room for a clone of the dataset, which takes "
                f"{human_bytes(dataset.bytes)}: {free} free",
            ) from error
        raise
    return CloneReport(time.monotonic() - start, copier.bytes, copier.method)


def _walk(source: Path) -> Iterator[Path]:
    """Everything below `source`, folders before what is in them; LoadFailed for a link."""
    for path in sorted(source.iterdir()):
        if path.is_symlink():
            raise LoadFailed(f"{path} is a link, which no golden copy holds")
        yield path
        if path.is_dir():
            yield from _walk(path)


def _new(path: Path) -> IO[bytes]:
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


class _Copier:
    """Copies files one after the other, by reflink for as long as the file system can.

    Where it cannot, there must be room for all `needed` bytes before the first is copied.
    """

    def __init__(self, directory: Path, needed: int, should_stop: Callable[[], bool]) -> None:
        self._directory = directory
        self._needed = needed
        self.method: Method = "reflink"
        self.bytes = 0
        self._should_stop = should_stop

    def folder(self, target: Path) -> None:
        """Make a folder that is ours alone."""
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(0o700)

    def file(self, source: Path, target: Path) -> None:
        """Copy one file."""
        with open_plain(source, source.lstat().st_uid) as reading, _new(target) as writing:
            size = os.fstat(reading.fileno()).st_size
            if not self._reflink(reading.fileno(), writing.fileno()):
                self._copy(reading.fileno(), writing.fileno(), size)
        self.bytes += size

    def settle(self, directory: Path) -> None:
        """Wait until all below `directory` is on the disk, then drop it from the page cache."""
        for path in _walk(directory):
            if path.is_dir():
                continue
            self._poll()
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def _reflink(self, reading: int, writing: int) -> bool:
        if self.method != "reflink":
            return False
        try:
            fcntl.ioctl(writing, _FICLONE, reading)
        except OSError as error:
            if error.errno not in _NO_REFLINK:
                raise
            self.method = "copy"
            require_room(self._directory, self._needed, "a clone of the dataset")
            return False
        return True

    def _copy(self, reading: int, writing: int, size: int) -> None:
        flags = fcntl.fcntl(writing, fcntl.F_GETFL)
        is_direct = size % mmap.PAGESIZE == 0 and _set_direct(writing, flags)
        offset = 0
        while offset < size:
            self._poll()
            length = min(_CHUNK, size - offset)
            if is_direct:
                try:
                    offset += _write_mapped(reading, writing, offset, length)
                    continue
                except OSError as error:  # some file systems refuse only now
                    if error.errno != errno.EINVAL:
                        raise
                    fcntl.fcntl(writing, fcntl.F_SETFL, flags)
                    is_direct = False
            sent = os.sendfile(writing, reading, offset, length)
            if sent == 0:
                raise _became_shorter()
            # Starts the write-back of this part while the next one is being read.
            os.posix_fadvise(writing, offset, sent, os.POSIX_FADV_DONTNEED)
            offset += sent

    def _poll(self) -> None:
        if self._should_stop():
            raise cancelled()


def _set_direct(writing: int, flags: int) -> bool:
    """Have the file written past the page cache, if its file system can."""
    try:
        fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_DIRECT)
    except OSError:
        return False
    return True


def _write_mapped(reading: int, writing: int, offset: int, length: int) -> int:
    """Write a part of one file to the other from where the kernel has it: neither is it copied
    in memory, nor is anything left to write back. Returns the bytes that were written.
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
