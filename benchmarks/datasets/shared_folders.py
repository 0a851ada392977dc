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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.datasets.loading import POLL_S, ProgressCallback, cancelled
from benchmarks.documents import Document
from benchmarks.errors import NO_SPACE_ERRNOS, DatasetInUse, DeviceUnusable, LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import check_ours, delete, held_folder, make_ours, take_back
from benchmarks.processes.users import server_user, uid_of
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import end_servers, sweep_folders
from benchmarks.storage.copying import directory_bytes
from benchmarks.storage.identify import check_usable

READY = "ready.json"
#: In the name of a folder that is half made, or half deleted.
LOADING = ".loading-"


@dataclass(frozen=True)
class SharedFolder(Document):
    """A golden copy, or the empty data directory, which trial starts and loads copy.

    `title`: the size of its data, such as "10 warehouses"; "" of the empty one. `used_at`: when a
    job last asked for it. `bytes`: what it takes on the disk.
    """

    path: Path
    server_digest: str
    server_version: str
    title: str
    bytes: int
    used_at: datetime

    @property
    def key(self) -> str:
        """The name of its folder."""
        return self.path.name


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
) -> tuple[Path, int]:
    """Return a shared folder of `device_dir` and its bytes; `make` fills it if need be.

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
        size = _whole_bytes(folder, identity)
        if size is None:
            if folder.exists():
                _remove(folder)
            check_usable(datasets, needed_bytes)
            size = _make(folder, identity, make)
    return folder, size


def _whole_bytes(folder: Path, identity: Mapping[str, Any]) -> int | None:
    """Return the size of a folder; None unless it is whole and exactly what is requested."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        ready = json.loads((folder / READY).read_text())
        if all(ready[name] == value for name, value in identity.items()):
            size = directory_bytes(folder / "data")
            return size if size == ready["bytes"] else None
    return None


def _make(folder: Path, identity: Mapping[str, Any], make: Callable[[Path], None]) -> int:
    loading = folder.with_name(f"{folder.name}{LOADING}{os.getpid()}")
    try:
        with held_folder(loading):
            loading.chmod(0o755)  # the server's user has to pass through
            try:
                make(loading)
                data = loading / "data"
                if data.lstat().st_uid != os.geteuid():
                    take_back(data, uid_of(server_user()))
                size = directory_bytes(data)
                ready = {**identity, "bytes": size}
                (loading / READY).write_text(json.dumps(ready, indent=2) + "\n")
                loading.rename(folder)
            finally:
                end_servers(loading)
        return size
    except OSError as error:
        if error.errno not in NO_SPACE_ERRNOS:
            raise LoadFailed(f"{folder.parent}: {error}") from error
        raise RunFailed(Outcome.DISK_FULL, f"{folder.parent}: {error.strerror}") from error


def make_folders(device_dir: Path) -> Path:
    """Return `<device_dir>/datasets`, made at need; the device itself must be there already."""
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
    with _lock_file(datasets / key).open("a") as file:
        while not try_lock(file.fileno()):
            if should_stop():
                raise cancelled()
            progress(0.0, "waiting for another load of this dataset")
            time.sleep(POLL_S)
        with contextlib.suppress(OSError):
            os.utime(file.fileno())  # the time when the folder was last asked for
        yield


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


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
    return sweep_folders(datasets, f"*{LOADING}*")


def list_folders(device_dir: Path) -> list[SharedFolder]:
    """Return every whole folder of a device, in order of names; [] without any.

    Where others could have put links in the place of what is read and locked, nothing is read.
    """
    datasets = device_dir / "datasets"
    try:
        check_ours(datasets)
        folders = sorted(path for path in datasets.iterdir() if not path.is_symlink())
    except (OSError, DeviceUnusable):
        return []
    return [found for folder in folders for found in _read(folder)]


def _read(folder: Path) -> Iterator[SharedFolder]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        ready = json.loads((folder / READY).read_text())
        # Every job that asks for a folder touches its lock.
        files = filter(Path.exists, (folder / READY, _lock_file(folder)))
        used_at = max(file.stat().st_mtime for file in files)
        yield SharedFolder(
            path=folder,
            server_digest=str(ready["server_digest"]),
            server_version=str(ready["server_version"]),
            title=str(ready.get("title", "")),
            bytes=int(ready["bytes"]),
            used_at=datetime.fromtimestamp(used_at, UTC),
        )


def delete_folder(folder: Path) -> None:
    """Delete a shared folder. Raises DatasetInUse, OSError.

    The caller sees to it that no job of this machine runs: one that clones holds no lock.
    """
    with _lock_file(folder).open("a") as file:
        if not try_lock(file.fileno()):
            raise DatasetInUse(f"{folder}: it is being loaded or looked for")
        if folder.exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    """Delete a folder so that no moment shows a part of it under a name that means whole.

    Servers that outlived the loader they worked for are ended before.
    """
    end_servers(folder)
    doomed = folder.with_name(f"{folder.name}{LOADING}{secrets.token_hex(4)}")
    folder.rename(doomed)
    (doomed / READY).unlink(missing_ok=True)  # it is no longer listed
    delete(doomed)
