"""Folders that several processes make once and then share: locked, atomic, swept.

A folder is filled as `<key>.loading-<pid>` and gets its name when it is whole, so that one of that
name always is. `<key>.lock` is held meanwhile; whoever gets it knows that every other maker of
that key is dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.datasets.progress import LoadProgress, ProgressCallback
from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.errors import DeviceUnusable
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import take_back
from benchmarks.ownership.ours import make_ours
from benchmarks.processes.users import server_user, uid_of
from benchmarks.servers.leftovers import end_servers
from benchmarks.storage.identify import check_usable

LOADING = ".loading-"
REMOVING = ".removing-"
WAITING = "waiting for another load of this dataset"


def take_data(data: Path) -> None:
    """Take a data directory from the server that filled it: it can change nothing in it now.

    Raises LoadFailed for what a server's data directory does not hold, such as links.
    """
    if data.lstat().st_uid != os.geteuid():
        take_back(data, uid_of(server_user()))


def directory_bytes(path: Path) -> int:
    """The sum of the file sizes below `path`."""
    return sum(
        os.lstat(os.path.join(folder, name)).st_size
        for folder, _, files in os.walk(path)
        for name in files
    )


def make_folders(device_dir: Path) -> Path:
    """`<device_dir>/datasets`; the device itself must be there already."""
    if not device_dir.is_dir():
        check_usable(device_dir.parent, 0)
    try:
        for folder in (device_dir, device_dir / "datasets"):
            make_ours(folder)
    except OSError as error:
        raise DeviceUnusable(f"{device_dir}: {error.strerror}") from error
    return device_dir / "datasets"


@contextlib.contextmanager
def locked(
    datasets: Path, key: str, progress: ProgressCallback, should_stop: Callable[[], bool]
) -> Iterator[None]:
    """Hold the lock of a key, waiting for it; raises RunFailed(CANCELLED)."""
    # The file stays: to delete it would let two loaders hold locks on two files of one name.
    with lock_file(datasets, key).open("a") as file:
        while not try_lock(file.fileno()):
            if should_stop():
                raise cancelled()
            progress(LoadProgress(0.0, 0, WAITING, None))
            time.sleep(POLL_S)
        touch_lock(datasets, key)
        yield


def lock_file(datasets: Path, key: str) -> Path:
    """The file that is locked while a folder of that key is made or deleted."""
    return datasets / f"{key}.lock"


def touch_lock(datasets: Path, key: str) -> None:
    """Remember, as the time of the lock's file, that what it is for was asked for now."""
    with contextlib.suppress(OSError):
        os.utime(lock_file(datasets, key))


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file, or see at once that another has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def leftovers(datasets: Path) -> list[Path]:
    """Folders that are being made or deleted, also by a process that has died."""
    return [path for mark in (LOADING, REMOVING) for path in datasets.glob(f"*{mark}*")]


def sweep(datasets: Path, held: str | None = None) -> None:
    """Delete what dead loaders left, of every key whose lock is free or held by us."""
    for leftover in leftovers(datasets):
        key = leftover.name.split(LOADING)[0].split(REMOVING)[0]
        if key == held:
            remove(leftover)
            continue
        with lock_file(datasets, key).open("a") as file:
            if try_lock(file.fileno()) and leftover.exists():
                remove(leftover)


def remove(path: Path) -> None:
    """Delete a directory so that no moment shows a part of it under a name that means whole.

    Servers that outlived the loader they worked for are ended before.
    """
    end_servers(path)
    doomed = path
    if REMOVING not in path.name:
        key = path.name.split(LOADING)[0]
        doomed = path.with_name(f"{key}{REMOVING}{secrets.token_hex(4)}")
        path.rename(doomed)
    delete(doomed)


def write_durably(path: Path, text: str) -> None:
    """Write a file that is on the disk, under its name, when this returns."""
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Bring the names in a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
