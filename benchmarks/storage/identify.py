"""The device behind a path: what it is, and whether a run may use it."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.errors import NO_SPACE_ERRNOS, DeviceFull, DeviceUnusable
from benchmarks.host.files import HostFiles, mount_of, read_mounts
from benchmarks.ownership import check_ours
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.layout import FOLDER, DeviceLayout
from benchmarks.storage.reserve import room_of
from benchmarks.storage.stack import Stack

_BLOCK = 4096
# A file that a crash left is recognised as ours by its name.
_TRIED = ".oltp-advisor-"
#: Errors of open() and write() where direct I/O does not exist.
_NO_DIRECT_IO = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}


def identify_device(path: Path, *, root: Path = Path("/")) -> DeviceIdentity:
    """Identify what stores an existing path; DeviceUnusable if it cannot be inspected.

    `root` is another root directory than this host's, with its own /sys and /proc: a recorded
    host.
    """
    host = HostFiles(root)
    try:
        real = host.resolve(path, strict=True)
        # before the mounts are read: this triggers an automount
        space = os.statvfs(host.locate(real))
    except RuntimeError as error:  # what pathlib makes of a loop of symlinks
        raise DeviceUnusable(f"{path}: a loop of symbolic links") from error
    except OSError as error:
        raise DeviceUnusable(f"{path}: {error.strerror}") from error
    mounts = read_mounts(host.mountinfo)
    mount = mount_of(real, mounts)
    return replace(
        Stack(host, mounts).behind_mount(mount),
        path=real,
        file_system=mount.file_system if mount else "",
        mount_options=mount.stable_options() if mount else "",
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
    )


def check_usable(path: Path, needed_bytes: int) -> None:
    """Raise DeviceUnusable unless `path` is a directory that can be written to, and DeviceFull
    without that much free space on top of the reserve of its file system.

    For 0 bytes the reserve is not looked at.

    Writing is tried, not asked for: as root every permission bit says yes, a read-only mount, an
    immutable directory or a full disk does not.
    """
    try:
        with tempfile.NamedTemporaryFile(prefix=_TRIED, dir=path, buffering=0) as file:
            file.write(b"\0" * _BLOCK)
            os.fsync(file.fileno())
    except OSError as error:
        kind = DeviceFull if error.errno in NO_SPACE_ERRNOS else DeviceUnusable
        raise kind(f"{path}: cannot be written to: {error.strerror}") from error
    if needed_bytes:
        room_of(path).check(needed_bytes)


def check_device(path: Path) -> None:
    """Raise DeviceUnusable unless `path` can be written to and what we keep there is safe: nobody
    but we and root can change our folder or put another in its place.
    """
    try:
        check_ours(path)
        with contextlib.suppress(FileNotFoundError):
            check_ours(path / FOLDER)
    except OSError as error:
        raise DeviceUnusable(f"{path}: {error.strerror}") from error
    check_usable(path, 0)


def check_in_place(
    layout: DeviceLayout,
    expected: tuple[DeviceIdentity | None, DeviceIdentity | None] = (None, None),
) -> tuple[DeviceIdentity, DeviceIdentity | None]:
    """Return the devices of the data and, where it has a directory of its own, the redo log.

    Raises DeviceUnusable unless both can be written to and are on the `expected` devices (None:
    any). A mount that is missing after a restart leaves its directory behind, on another disk.
    """
    for path in layout.directories:
        check_device(path)
    data = identify_device(layout.data_dir)
    log = identify_device(layout.log_dir) if layout.log_dir else None
    for known, now in zip(expected, (data, log), strict=True):
        if known is not None and (now is None or not known.is_same_device(now)):
            raise DeviceUnusable(f"{known.path}: another device is in its place now")
    return data, log


def supports_direct_io(path: Path) -> bool | None:
    """Whether files in the directory `path` can be written around the page cache.

    Writes one block to a temporary file there, which is gone afterwards. None when it cannot be
    tried: no such directory, not writable, full.
    """
    try:
        # Memory of mmap is aligned to the largest logical block of a disk.
        with (
            tempfile.NamedTemporaryFile(prefix=_TRIED, dir=path) as file,
            mmap.mmap(-1, _BLOCK) as block,
        ):
            descriptor = os.open(file.name, os.O_WRONLY | os.O_DIRECT | os.O_NOFOLLOW)
            try:
                return os.write(descriptor, block) == _BLOCK
            finally:
                os.close(descriptor)
    except OSError as error:
        return False if error.errno in _NO_DIRECT_IO else None
