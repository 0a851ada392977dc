"""The probe's own folder and file on the device, which no kind of death leaves behind."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.errors import DeviceUnusable
from benchmarks.ownership import held_folder, make_ours
from benchmarks.processes.users import server_user
from benchmarks.servers.running import sweep_folders
from benchmarks.storage.human import human_bytes
from benchmarks.storage.identify import check_usable
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind
from benchmarks.storage.layout import DeviceLayout
from benchmarks.storage.reserve import reserve_bytes

MIB = 1024 * 1024
#: Far beyond the cache of a disk or SSD controller, and written in seconds.
MAX_FILE = 1024 * MIB
MIN_FILE = 64 * MIB
#: The folders of probes in our folder on a device.
PROBES = "probe-*"


@dataclass(frozen=True)
class Workspace:
    """An open file without a name, and the folder that fio runs in."""

    directory: Path
    descriptor: int

    @property
    def file_name(self) -> str:
        """Opens the file in any process that inherits the descriptor, with any flags."""
        return f"/dev/fd/{self.descriptor}"


def file_size(device: DeviceIdentity) -> int:
    """How large the probe's file may be, in bytes; DeviceUnusable when that is too little.

    At most a quarter of the free space beside the reserve; on tmpfs, where the file takes memory,
    a sixteenth of what is available.
    """
    bounds = [MAX_FILE, (device.free_bytes - reserve_bytes(device.total_bytes)) // 4]
    if DeviceKind.TMPFS in (device.kind, device.discovered_kind):
        bounds.append(psutil.virtual_memory().available // 16)
    size = min(bounds) // MIB * MIB
    if size < MIN_FILE:
        raise DeviceUnusable(
            f"{device.path}: too little room to probe it: the file could have "
            f"{human_bytes(size)}, {human_bytes(MIN_FILE)} are needed"
        )
    return size


def buffered_size() -> int:
    """How large a file may be that goes through the page cache: an eighth of the memory."""
    return max(MIN_FILE, psutil.virtual_memory().total // 8 // MIB * MIB)


@contextlib.contextmanager
def workspace(directory: Path) -> Iterator[Workspace]:
    """Make a folder `oltp-advisor/probe-<random>` below `directory` with an unnamed file in it.

    The file never has a name, or loses it before a byte is written: when its last descriptor is
    closed, by whatever death, the file system frees it. An empty folder is all that can stay
    behind, until the next probe or sweep.
    """
    root = DeviceLayout(directory).root
    with contextlib.ExitStack() as stack:
        try:
            make_ours(root)
            sweep_folders(root, PROBES)
            directory = root / f"probe-{secrets.token_hex(4)}"
            stack.enter_context(held_folder(directory))
        except OSError as error:
            raise DeviceUnusable(f"{root}: cannot be written to: {error.strerror}") from error
        check_usable(directory, 0)
        descriptor = _unnamed_file(directory)
        stack.callback(os.close, descriptor)
        if (user := server_user()) is not None:  # whom fio runs as
            os.fchown(descriptor, user.uid, user.gid)
        yield Workspace(directory, descriptor)


def supports_direct(descriptor: int) -> str:
    """Why a file cannot be read around the page cache; "" when it can."""
    try:
        second = os.open(f"/dev/fd/{descriptor}", os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return "the file system does not support direct I/O (O_DIRECT)"
    os.close(second)
    return ""


def _unnamed_file(directory: Path) -> int:
    try:
        return os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        # the file system, or the kernel below an overlay, does not know how
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            raise
    descriptor, name = tempfile.mkstemp(prefix="data-", dir=directory)
    os.unlink(name)
    return descriptor
