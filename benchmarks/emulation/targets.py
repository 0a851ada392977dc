"""The disks on which requests to a path are queued, where the kernel can throttle them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import EmulationUnavailable
from benchmarks.host.mounts import read_mounts

SYS = Path("/sys")


@dataclass(frozen=True)
class Disk:
    """A whole block device: its name as in /proc/diskstats and its "major:minor"."""

    name: str
    number: str


def disks_behind(paths: Iterable[Path], *, sys_root: Path = SYS) -> tuple[Disk, ...]:
    """The disk of each path, each once. Raises EmulationUnavailable where there is none.

    A partition's requests are queued on its whole disk, and the kernel takes no limit for the
    partition itself. LVM, md and dm-crypt have queues of their own: the limit is on the volume
    that holds the file system, not on the disks below.
    """
    found = [_disk(path, sys_root) for path in paths]
    return tuple(dict.fromkeys(found))


def _disk(path: Path, sys_root: Path) -> Disk:
    try:
        device = path.stat().st_dev
    except OSError as error:
        raise EmulationUnavailable(f"{path}: {error.strerror}") from error
    number = f"{os.major(device)}:{os.minor(device)}"
    directory = sys_root / "dev" / "block" / number
    if not directory.exists():
        mounted = (mount.file_system for mount in read_mounts() if mount.device == number)
        # Subvolumes of btrfs have numbers that no mount shows.
        kind = next(mounted, "a file system with a number of its own (such as btrfs)")
        raise EmulationUnavailable(
            f"{path} is on {kind}, whose block device cannot be detected: "
            "name a directory on a file system of its own (ext4, xfs) on a disk"
        )
    directory = directory.resolve()
    if (directory / "partition").exists():
        directory = directory.parent
    return Disk(directory.name.replace("!", "/"), (directory / "dev").read_text().strip())
