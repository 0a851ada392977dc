"""The golden copies on a device, as the housekeeping sees them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.datasets.shared_folders import READY, lock_file, remove, try_lock
from benchmarks.documents import Document
from benchmarks.errors import DatasetInUse, DeviceUnusable
from benchmarks.ownership import check_ours


@dataclass(frozen=True)
class Shelved(Document):
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


def shelved(device_dir: Path) -> list[Shelved]:
    """Every whole one in our folder on a device, in order of their names; [] without any, and
    where others could have put links in the place of what is read and locked.
    """
    datasets = device_dir / "datasets"
    try:
        check_ours(datasets)
        folders = sorted(path for path in datasets.iterdir() if not path.is_symlink())
    except (OSError, DeviceUnusable):
        return []
    return [found for folder in folders for found in _read(folder)]


def take_off(one: Shelved) -> None:
    """Delete it: its name is gone before its first file. Raises DatasetInUse, OSError.

    The caller sees to it that no job of this machine runs: one that clones holds no lock.
    """
    with lock_file(one.path.parent, one.key).open("a") as file:
        if not try_lock(file.fileno()):
            raise DatasetInUse(f"{one.path}: it is being loaded or looked for")
        if one.path.exists():
            remove(one.path)


def _read(folder: Path) -> Iterator[Shelved]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        ready = json.loads((folder / READY).read_text())
        # Every job that asks for a folder touches its lock.
        lock = lock_file(folder.parent, folder.name)
        times = [path.stat().st_mtime for path in (folder / READY, lock) if path.exists()]
        yield Shelved(
            path=folder,
            server_digest=str(ready["server_digest"]),
            server_version=str(ready["server_version"]),
            title=str(ready.get("title", "")),
            bytes=int(ready["bytes"]),
            used_at=datetime.fromtimestamp(max(times), UTC),
        )
