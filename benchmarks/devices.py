"""The device behind a path: what it is, and whether a run may use it."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.blockdev import BlockDevice, DeviceKind, find_block_device, read_block_device
from benchmarks.errors import DeviceUnusable
from benchmarks.mounts import MOUNTINFO, Mount, mount_of, read_mounts

__all__ = ["DeviceIdentity", "DeviceKind", "check_usable", "human_bytes", "identify_device"]

SYS = Path("/sys")

_MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})
_NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "lustre", "fuse.glusterfs", "fuse.sshfs"}
)
_NO_BLOCK_DEVICE = BlockDevice(name="", kind=DeviceKind.OTHER, model="", scheduler="")


@dataclass(frozen=True)
class DeviceIdentity:
    """What stores the data of a path.

    `block_device` is the whole disk whose counters tell its traffic ("vda", also when the mount
    is on vda1), None where there is none (tmpfs, network) or it cannot be seen (overlay in a
    container). `model` and `scheduler` are "" where unknown. `mount_options` is comma-separated.
    `total_bytes` and `free_bytes` are the file system's; free is what an ordinary user may fill.
    """

    path: Path
    kind: DeviceKind
    block_device: str | None
    model: str
    scheduler: str
    file_system: str
    mount_options: str
    total_bytes: int
    free_bytes: int


def identify_device(
    path: Path, *, sys_root: Path = SYS, mountinfo: Path = MOUNTINFO
) -> DeviceIdentity:
    """Identify what is behind an existing path; DeviceUnusable when it cannot be looked at."""
    try:
        real = path.resolve(strict=True)
        space = os.statvfs(real)  # before the mounts are read: this triggers an automount
    except RuntimeError as error:  # what pathlib makes of a loop of symlinks
        raise DeviceUnusable(f"{path}: a loop of symbolic links") from error
    except OSError as error:
        raise DeviceUnusable(f"{path}: {_reason(error)}") from error
    mounts = read_mounts(mountinfo)
    mount = mount_of(real, mounts)
    block = _block_device(mount, mounts, sys_root) if mount else _NO_BLOCK_DEVICE
    return DeviceIdentity(
        path=real,
        kind=block.kind,
        block_device=block.name or None,
        model=block.model,
        scheduler=block.scheduler,
        file_system=mount.file_system if mount else "",
        mount_options=mount.stable_options() if mount else "",
        total_bytes=space.f_blocks * space.f_frsize,
        free_bytes=space.f_bavail * space.f_frsize,
    )


def check_usable(path: Path, needed_bytes: int) -> None:
    """Raise DeviceUnusable unless `path` is a directory we can write to with that much room.

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
        raise DeviceUnusable(f"{path}: cannot be written to: {_reason(error)}") from error
    space = os.statvfs(path)
    # What an unprivileged user may fill, for that is what the server runs as.
    free = space.f_bavail * space.f_frsize
    if free < needed_bytes:
        raise DeviceUnusable(
            f"{path}: {human_bytes(free)} free, {human_bytes(needed_bytes)} needed"
        )


def human_bytes(count: int) -> str:
    """1536 -> "1.5 KiB": binary units, one decimal."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _block_device(mount: Mount, mounts: list[Mount], sys_root: Path) -> BlockDevice:
    kind = _kind_without_device(mount)
    if kind is not DeviceKind.OTHER:
        return BlockDevice(name="", kind=kind, model="", scheduler="")
    if mount.file_system == "overlay":
        backing = _upper_layer(mount, mounts)
        return _block_device(backing, mounts, sys_root) if backing else _NO_BLOCK_DEVICE
    directory = find_block_device(mount.device, mount.source, sys_root)
    return read_block_device(directory) if directory else _NO_BLOCK_DEVICE


def _kind_without_device(mount: Mount) -> DeviceKind:
    if mount.file_system in _MEMORY_FILE_SYSTEMS:
        return DeviceKind.TMPFS
    if mount.file_system in _NETWORK_FILE_SYSTEMS:
        return DeviceKind.NETWORK
    return DeviceKind.OTHER


def _upper_layer(mount: Mount, mounts: list[Mount]) -> Mount | None:
    """The mount that takes an overlay's writes; inside a container its path leads nowhere."""
    upper = mount.option("upperdir")
    if upper is None or not os.path.isdir(upper):
        return None
    backing = mount_of(Path(upper).resolve(), mounts)
    # An overlay cannot have its upper layer on itself; such a path is another one's by accident.
    return backing if backing is not None and backing.file_system != "overlay" else None


def _try_writing(directory: Path) -> None:
    # mkstemp names the file so that what a crash leaves behind can be told to be ours
    descriptor, name = tempfile.mkstemp(prefix=".oltp-advisor-", dir=directory)
    try:
        os.write(descriptor, b"\0" * 4096)
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
