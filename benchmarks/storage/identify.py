"""The device behind a path: what it is, and whether a run may use it."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.errors import NO_SPACE_ERRNOS, DeviceFull, DeviceUnusable
from benchmarks.host.files import HostFiles
from benchmarks.host.mounts import mount_of, read_mounts
from benchmarks.ownership.ours import check_ours
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind
from benchmarks.storage.layout import FOLDER, DeviceLayout
from benchmarks.storage.reserve import room_of
from benchmarks.storage.stack import Stack

_BLOCK = 4096
#: Errors of open() and write() where direct I/O does not exist.
_NO_DIRECT_IO = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}


def identify_device(
    path: Path, *, kind: DeviceKind | None = None, root: Path = Path("/")
) -> DeviceIdentity:
    """Identify what stores an existing path; DeviceUnusable if it cannot be inspected.

    `kind` is the user's correction; what was found is kept beside it. `root` is another root
    directory than this host's, with its own /sys and /proc: a recorded host.
    """
    host = HostFiles(root)
    try:
        real = host.resolve(path, strict=True)
        # before the mounts are read: this triggers an automount
        space = os.statvfs(host.locate(real))
    except RuntimeError as error:  # what pathlib makes of a loop of symlinks
        raise DeviceUnusable(f"{path}: a loop of symbolic links") from error
    except OSError as error:
        raise DeviceUnusable(f"{path}: {_reason(error)}") from error
    mounts = read_mounts(host.mountinfo)
    mount = mount_of(real, mounts)
    found = (
        Stack(host, mounts).behind_mount(mount)
        if mount
        else DeviceIdentity(notes=("The mount of this path is not in /proc/self/mountinfo.",))
    )
    identity = replace(
        found,
        path=real,
        file_system=mount.file_system if mount else "",
        mount_options=mount.stable_options() if mount else "",
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
    )
    return identity.corrected(kind)


def check_usable(path: Path, needed_bytes: int) -> None:
    """Raise DeviceUnusable unless `path` is a directory that can be written to, and DeviceFull
    without that much free space beside the reserve of its file system.

    For 0 bytes the reserve is not looked at.

    Writing is tried, not asked for: as root every permission bit says yes, a read-only mount, an
    immutable directory or a full disk does not.
    """
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        raise DeviceUnusable(f"{path}: {_reason(error)}") from error
    if not is_directory:
        raise DeviceUnusable(f"{path}: not a directory")
    try:
        _try_writing(path)
    except OSError as error:
        kind = DeviceFull if error.errno in NO_SPACE_ERRNOS else DeviceUnusable
        raise kind(f"{path}: cannot be written to: {_reason(error)}") from error
    if needed_bytes:
        room_of(path).check(needed_bytes)


def check_in_place(
    layout: DeviceLayout,
    expected: tuple[DeviceIdentity | None, DeviceIdentity | None] = (None, None),
) -> tuple[DeviceIdentity, DeviceIdentity | None]:
    """Return the devices of the data and, where it has a directory of its own, the redo log.

    Raises DeviceUnusable unless both can be written to and are on the devices `expected`, where
    those are known: a mount that is missing after a restart leaves its directory behind, on
    another disk.
    """
    found = [_check_one(path) for path in layout.directories]
    data, log = found[0], found[1] if layout.log_dir else None
    for known, now in zip(expected, (data, log), strict=True):
        if known is not None and (now is None or not known.is_same_device(now)):
            raise DeviceUnusable(f"{known.path}: another device is in its place now")
    return data, log


def check_device(path: Path) -> None:
    """Raise DeviceUnusable unless `path` can be written to and what we keep there is safe: nobody
    but we and root can change our folder or put another in its place.
    """
    try:
        check_ours(path)
        with contextlib.suppress(FileNotFoundError):
            check_ours(path / FOLDER)
    except OSError as error:
        raise DeviceUnusable(f"{path}: {_reason(error)}") from error
    check_usable(path, 0)


def supports_direct_io(path: Path) -> bool | None:
    """Whether files in the directory `path` can be written around the page cache.

    Writes one block to a temporary file there, which is gone afterwards. None when it cannot be
    tried: no such directory, not writable, full.
    """
    try:
        # Memory of mmap is aligned to the largest logical block of a disk.
        with (
            tempfile.NamedTemporaryFile(prefix=".oltp-advisor-", dir=path) as file,
            mmap.mmap(-1, _BLOCK) as block,
        ):
            descriptor = os.open(file.name, os.O_WRONLY | os.O_DIRECT | os.O_NOFOLLOW)
            try:
                return os.write(descriptor, block) == _BLOCK
            finally:
                os.close(descriptor)
    except OSError as error:
        return False if error.errno in _NO_DIRECT_IO else None


def _check_one(path: Path) -> DeviceIdentity:
    check_device(path)
    return identify_device(path)


def _try_writing(directory: Path) -> None:
    # mkstemp names the file so that a file left by a crash is recognisable as ours
    descriptor, name = tempfile.mkstemp(prefix=".oltp-advisor-", dir=directory)
    try:
        os.write(descriptor, b"\0" * _BLOCK)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
        os.unlink(name)


def _reason(error: OSError) -> str:
    known = {
        errno.ENOENT: "does not exist",
        errno.ENOTDIR: "a parent of it is not a directory",
        errno.ELOOP: "a loop of symbolic links",
        errno.EACCES: "permission denied",
        errno.EPERM: "not permitted",
        errno.EROFS: "the file system is mounted read-only",
        errno.ENOSPC: "no space left on the device",
        errno.EDQUOT: "the disk quota is used up",
    }
    return known.get(error.errno or 0, error.strerror or str(error))
