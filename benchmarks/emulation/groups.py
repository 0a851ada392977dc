"""The cgroups of runs: how they are made, limited, removed and swept; which disks they limit."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import EmulationUnavailable
from benchmarks.host.cgroups import (
    IO,
    MEMORY,
    Hierarchy,
    field_of,
    find_hierarchy,
    parent_for,
)
from benchmarks.host.files import read_text
from benchmarks.ownership import free_folders, hold
from benchmarks.storage.disk import device_name

log = logging.getLogger(__name__)

SYS = Path("/sys")
PREFIX = "oltp-advisor-"
#: Every cgroup of ours has such a name, and no unit of systemd (oltp-advisor-worker.service) has.
#: Its maker holds a lock on it for as long as it lives.
PATTERN = f"{PREFIX}*.{'[0-9a-f]' * 8}"
_V2_IO = "io.max"
_V1_IO = {
    "blkio.throttle.read_iops_device": "riops",
    "blkio.throttle.write_iops_device": "wiops",
    "blkio.throttle.read_bps_device": "rbps",
    "blkio.throttle.write_bps_device": "wbps",
}
_V2_UNLIMITED = "rbps=max wbps=max riops=max wiops=max"
_REMOVE_S = 10.0  # a process that was killed may still wait for the disk
_POLL_S = 0.02
_ATTEMPTS = 5


@dataclass(frozen=True)
class Disk:
    """A whole block device: its name as in /proc/diskstats and its "major:minor"."""

    name: str
    number: str


def disks_behind(paths: Iterable[Path], *, sys_root: Path = SYS) -> tuple[Disk, ...]:
    """Return the disk of each path, each once. Raises EmulationUnavailable where there is none.

    A partition's requests are queued on its whole disk, and the kernel takes no limit for the
    partition itself. LVM, md and dm-crypt have queues of their own: the limit is on the volume
    that holds the file system, not on the disks below.
    """
    return tuple(dict.fromkeys(_disk(path, sys_root) for path in paths))


def _disk(path: Path, sys_root: Path) -> Disk:
    try:
        device = path.stat().st_dev
    except OSError as error:
        raise EmulationUnavailable(f"{path}: {error.strerror}") from error
    number = f"{os.major(device)}:{os.minor(device)}"
    directory = (sys_root / "dev" / "block" / number).resolve()
    if not directory.exists():
        raise EmulationUnavailable(
            f"{path} is on a file system without a block device of its own (as tmpfs, overlay and "
            "btrfs are): name a directory on ext4 or xfs on a disk"
        )
    if (directory / "partition").exists():
        directory = directory.parent
    return Disk(device_name(directory), read_text(directory / "dev"))


@dataclass(frozen=True)
class Group:
    """A cgroup directory, the version of its tree and the controllers we use in it."""

    directory: Path
    version: int
    controllers: tuple[str, ...]

    @property
    def procs(self) -> Path:
        """The file that takes the processes and lists them."""
        return self.directory / "cgroup.procs"

    def pids(self) -> set[int]:
        """Return the processes inside, as our pid namespace numbers them."""
        return {int(word) for word in read_text(self.procs).split()} - {0}

    def limit(self, profile: EmulationProfile, disks: tuple[Disk, ...]) -> None:
        """Set the profile's limits, as far as they are of our controllers, and read them back.

        Raises EmulationUnavailable when the kernel does not take one.
        """
        if IO in self.controllers:
            for disk in disks:
                self._limit_io(profile, disk)
        if MEMORY in self.controllers and profile.memory_bytes is not None:
            # Memory, and no way out into swap space, which would load the device with its own I/O.
            limit = str(profile.memory_bytes)
            ram, swap, most = (
                ("memory.max", "memory.swap.max", "0")
                if self.version == 2
                else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", limit)
            )
            self._write(ram, limit, "the memory limit")
            if (self.directory / swap).exists():  # swap is accounted
                self._write(swap, most, "the ban on swapping")

    def lift(self) -> None:
        """Take all I/O limits away; requests that wait continue at once. Never raises."""
        files = {_V2_IO: _V2_UNLIMITED} if self.version == 2 else dict.fromkeys(_V1_IO, "0")
        for name, unlimited in files.items():
            for line in read_text(self.directory / name).splitlines():
                with contextlib.suppress(OSError):
                    (self.directory / name).write_text(f"{line.split()[0]} {unlimited}")

    def oom_kills(self) -> int | None:
        """Return how many processes in this group the kernel killed for lack of memory."""
        if MEMORY not in self.controllers:
            return None
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        return field_of(self.directory / name, "oom_kill")  # None: v1 before Linux 4.13

    def remove(self) -> bool:
        """End what is still inside and delete the group; False when that was not to be had."""
        self.lift()
        deadline = time.monotonic() + _REMOVE_S
        while True:
            try:
                self.directory.rmdir()
                return True
            except FileNotFoundError:
                return True
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    log.error("cannot remove the cgroup %s: %s", self.directory, error.strerror)
                    return False
            for pid in self.pids():  # only what was started through us is in here
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _limit_io(self, profile: EmulationProfile, disk: Disk) -> None:
        limits = {
            "rbps": profile.read_mb_s and profile.read_mb_s * 10**6,
            "wbps": profile.write_mb_s and profile.write_mb_s * 10**6,
            "riops": profile.read_iops,
            "wiops": profile.write_iops,
        }
        lines = {name: str(limits[key]) for name, key in _V1_IO.items() if limits[key]}
        if self.version == 2:
            lines = {_V2_IO: " ".join(f"{key}={value or 'max'}" for key, value in limits.items())}
        for name, words in lines.items():
            line = f"{disk.number} {words}"
            self._write(name, line, f"a limit on {disk.name}")
            kept = read_text(self.directory / name).splitlines()
            if set(line.split()) not in [set(now.split()) for now in kept]:
                raise EmulationUnavailable(
                    f"the kernel did not keep the limit on {disk.name}: {line}"
                )

    def _write(self, name: str, text: str, what: str) -> None:
        path = self.directory / name
        if not path.exists():
            raise EmulationUnavailable(f"this kernel cannot set {what}: it has no {name}")
        try:
            path.write_text(text)
        except OSError as error:
            raise EmulationUnavailable(
                f"the kernel refused {what} ({text!r} to {name}: {error.strerror})"
            ) from error


def by_tree(controllers: Iterable[str]) -> dict[Hierarchy, tuple[str, ...]]:
    """Return the controllers by the tree they are in: one tree for all, as in v2, or several.

    Raises EmulationUnavailable for a controller that is in none.
    """
    trees: dict[Hierarchy, tuple[str, ...]] = {}
    for controller in controllers:
        tree = find_hierarchy(controller)
        trees[tree] = (*trees.get(tree, ()), controller)
    return trees


def new_group(
    tree: Hierarchy, controllers: tuple[str, ...], run: str, stack: contextlib.ExitStack
) -> Group:
    """Make a cgroup of ours, which is removed when the stack ends.

    This process holds a lock on it. Raises EmulationUnavailable.
    """
    parent = parent_for(tree, list(controllers))
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", run)[:60]
    for _ in range(_ATTEMPTS):
        name = f"{PREFIX}{readable}.{secrets.token_hex(4)}"
        group = Group(parent / name, tree.version, controllers)
        stack.callback(group.remove)  # before it exists: an interrupt may come in between
        try:
            group.directory.mkdir()
        except OSError as error:
            raise EmulationUnavailable(
                f"cannot make a cgroup in {parent}: {error.strerror}"
            ) from error
        # A sweep takes a group that has no lock yet for a leftover: then another one is made.
        if (held := hold(group.directory)) is not None:
            stack.callback(os.close, held)
            if group.directory.exists():
                return group
    raise EmulationUnavailable(f"cannot lock a cgroup in {parent}")


def sweep_cgroups() -> list[Path]:
    """Remove every cgroup of ours that no process holds, and end what is still in it.

    Returns the groups that are gone. Looks through the whole tree: the worker that comes after a
    killed one may sit in another cgroup.
    """
    gone = []
    for controller in (IO, MEMORY):
        with contextlib.suppress(EmulationUnavailable):
            tree = find_hierarchy(controller)
            for folder, _, _ in os.walk(tree.mount_point):
                gone += [
                    path
                    for path in free_folders(Path(folder), PATTERN)
                    if Group(path, tree.version, (controller,)).remove()
                ]
    return gone
