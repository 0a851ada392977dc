"""Data directories that several processes make once and then share: locked, atomic, swept.

`<key>/` holds `data/`, the cleanly shut down data directory, and `ready.json`, what is known about
it. Its maker holds and fills `<key>.loading-<pid>` and renames that folder when it is whole, so a
folder `<key>` is never half made. The maker has `<key>.lock` meanwhile, for which others wait.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.datasets.progress import ProgressCallback
from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.errors import NO_SPACE_ERRNOS, DeviceUnusable, LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import check_ours, delete, held_folder, make_ours, take_back
from benchmarks.processes.users import server_user, uid_of
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import end_servers, sweep_folders
from benchmarks.storage.copying import directory_bytes
from benchmarks.storage.identify import check_usable

READY = "ready.json"
LOADING = ".loading-"
REMOVING = ".removing-"


def server_key(binary: ServerBinary, data: str, page_size: int, version_of_data: int) -> str:
    """Return the name of a folder, readable and different for all that must not mix."""
    server = f"{binary.flavour}-{'.'.join(map(str, binary.version))}-{binary.digest[:12]}"
    return f"{server}-{data}-p{page_size // 1024}k-v{version_of_data}"


def ensure_folder(
    device_dir: Path,
    key: str,
    identity: Mapping[str, Any],
    make: Callable[[Path], None],
    *,
    needed_bytes: int,
    progress: ProgressCallback,
    should_stop: Callable[[], bool],
) -> tuple[Path, Mapping[str, Any]]:
    """Return a shared folder of `device_dir` and its ready.json; `make` fills it if need be.

    A folder is used if it is whole and its ready.json agrees with `identity`. `make` gets the
    folder in which it makes `data`.

    Callers at the same time wait for each other; leftovers of dead makers are removed. Raises
    DeviceUnusable (not there, not writable), DeviceFull, LoadFailed, RunFailed: CANCELLED,
    DISK_FULL, and what `make` raises. Nothing half-made is left behind.
    """
    datasets = make_folders(device_dir.absolute())
    folder = datasets / key
    with locked(datasets, key, progress, should_stop):
        sweep_loads(datasets)
        ready = _read_ready(folder, identity)
        if ready is None:
            if folder.exists():
                remove(folder)
            check_usable(datasets, needed_bytes)
            ready = _make(folder, identity, make)
    return folder, ready


def _read_ready(folder: Path, identity: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The facts of a folder, None unless it is whole and exactly what is requested."""
    try:
        ready: Mapping[str, Any] = json.loads((folder / READY).read_text())
        if any(ready[name] != value for name, value in identity.items()):
            return None
        _take_data(folder / "data")
        return ready if ready["bytes"] == directory_bytes(folder / "data") else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, LoadFailed):
        return None


def _make(
    folder: Path, identity: Mapping[str, Any], make: Callable[[Path], None]
) -> Mapping[str, Any]:
    loading = folder.with_name(f"{folder.name}{LOADING}{os.getpid()}")
    try:
        with held_folder(loading):
            loading.chmod(0o755)  # the server's user has to pass through
            try:
                make(loading)
                _take_data(loading / "data")
                ready = {**identity, "bytes": directory_bytes(loading / "data")}
                write_durably(loading / READY, json.dumps(ready, indent=2) + "\n")
                loading.rename(folder)
                sync_directory(folder.parent)
            finally:
                end_servers(loading)
        return ready
    except OSError as error:
        if error.errno not in NO_SPACE_ERRNOS:
            raise LoadFailed(f"{folder.parent}: {error}") from error
        raise RunFailed(Outcome.DISK_FULL, f"{folder.parent}: {error.strerror}") from error


def _take_data(data: Path) -> None:
    """Take a data directory from the server that filled it: it can change nothing in it now.

    Raises LoadFailed for what a server's data directory does not hold, such as links.
    """
    if data.lstat().st_uid != os.geteuid():
        take_back(data, uid_of(server_user()))


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
            progress(0.0, "waiting for another load of this dataset")
            time.sleep(POLL_S)
        with contextlib.suppress(OSError):
            os.utime(file.fileno())  # the time when the folder was last asked for
        yield


def lock_file(datasets: Path, key: str) -> Path:
    """Return the file that is locked while a folder of that key is made or deleted."""
    return datasets / f"{key}.lock"


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file, or see at once that another has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sweep_loads(datasets: Path) -> list[Path]:
    """Delete what dead makers left in the folder of the datasets; return what is gone.

    A folder that others can change is left alone.
    """
    try:
        check_ours(datasets)
    except (OSError, DeviceUnusable):
        return []
    return [path for mark in (LOADING, REMOVING) for path in sweep_folders(datasets, f"*{mark}*")]


def remove(path: Path) -> None:
    """Delete a directory so that no moment shows a part of it under a name that means whole.

    Servers that outlived the loader they worked for are ended before.
    """
    end_servers(path)
    doomed = path.with_name(f"{path.name}{REMOVING}{secrets.token_hex(4)}")
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
