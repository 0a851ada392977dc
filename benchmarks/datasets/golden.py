"""Golden copies: a dataset is loaded once per (server, warehouses, page size), then only cloned.

`<device_dir>/datasets/<key>/` holds `data/`, the cleanly shut down data directory, and
`ready.json`, what is known about it. A copy is loaded in `<key>.loading-<pid>/` and gets its name
when it is whole, so a directory of that name always is. `<key>.lock` is held for the time of
loading; a process that gets it knows that every other loader of that key is dead.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import rules
from benchmarks.datasets.fill import fill
from benchmarks.datasets.options import DEFAULT_PAGE_SIZE, PAGE_SIZES
from benchmarks.datasets.progress import LoadProgress, ProgressCallback, ignore, never
from benchmarks.datasets.shared_folders import (
    LOADING,
    directory_bytes,
    leftovers,
    locked,
    make_folders,
    remove,
    sweep,
    sync_directory,
    take_data,
    write_durably,
)
from benchmarks.errors import NO_SPACE_ERRNOS, DeviceUnusable, LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.ours import check_ours, make_ours
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.identify import check_usable
from benchmarks.storage.reserve_watch import ReserveWatch

READY = "ready.json"
#: Temporary files of index builds and the redo log while loading, per loaded byte.
_LOAD_SLACK = 1.1


@dataclass(frozen=True)
class Dataset:
    """A golden copy. `path` is its folder, `bytes` what a clone takes on disk.

    `table_bytes` is the size of tables and indexes alone: what a buffer pool is measured against.
    """

    path: Path
    warehouses: int
    page_size: int
    server_digest: str
    bytes: int
    load_seconds: float
    table_bytes: int
    rows: int

    @property
    def data_dir(self) -> Path:
        """The data directory. Never start a server on it: clone it."""
        return self.path / "data"

    @property
    def options(self) -> dict[str, str]:
        """Server options without which a clone does not start."""
        return {"innodb_page_size": str(self.page_size)}


def dataset_key(binary: ServerBinary, warehouses: int, page_size: int) -> str:
    """The folder name of a golden copy, readable and different for all that must not mix."""
    version = ".".join(map(str, binary.version))
    return (
        f"{binary.flavour}-{version}-{binary.digest[:12]}"
        f"-w{warehouses}-p{page_size // 1024}k-v{rules.SCHEMA_VERSION}"
    )


def ensure_dataset(
    binary: ServerBinary,
    *,
    device_dir: Path,
    warehouses: int,
    page_size: int = DEFAULT_PAGE_SIZE,
    jobs: int | None = None,
    progress: ProgressCallback = ignore,
    should_stop: Callable[[], bool] = never,
) -> Dataset:
    """Find the golden copy in `device_dir` (our folder on a device) or load it there.

    Callers at the same time wait for each other; leftovers of dead loaders are removed. Raises
    DeviceUnusable (not there, not writable), DeviceFull, LoadFailed, RunFailed: CANCELLED,
    DISK_FULL, CRASHED, OUT_OF_MEMORY, TIMED_OUT, NO_START. Nothing half-loaded is left behind.
    """
    if not 1 <= warehouses <= rules.MAX_WAREHOUSES:
        raise ValueError(f"warehouses must be 1 to {rules.MAX_WAREHOUSES}, not {warehouses}")
    if page_size not in PAGE_SIZES:
        raise ValueError(f"page_size must be one of {PAGE_SIZES}, not {page_size}")
    datasets = make_folders(device_dir.absolute())
    key = dataset_key(binary, warehouses, page_size)
    with locked(datasets, key, progress, should_stop):
        sweep(datasets, key)
        folder = datasets / key
        dataset = read_dataset(folder, binary, warehouses, page_size)
        if dataset is None:
            if folder.exists():
                remove(folder)
            needed = int(rules.estimated_directory_bytes(warehouses) * _LOAD_SLACK)
            check_usable(datasets, needed)
            with ReserveWatch([datasets], should_stop) as watch:
                dataset = _load(
                    binary,
                    folder,
                    warehouses,
                    page_size,
                    jobs,
                    progress,
                    watch.should_stop,
                )
        progress(LoadProgress(1.0, dataset.rows, "ready", 0.0))
        return dataset


def sweep_loads(device_dir: Path) -> list[Path]:
    """Delete what dead loaders left in our folder on a device; returns what is gone.

    Loads that are running, of whatever process, are left alone, and so is a folder that others
    can change: they could have put links in the place of the locks.
    """
    datasets = device_dir.absolute() / "datasets"
    try:
        check_ours(datasets)
    except (OSError, DeviceUnusable):
        return []
    before = leftovers(datasets)
    sweep(datasets)
    return [path for path in before if not path.exists()]


def read_dataset(
    folder: Path, binary: ServerBinary, warehouses: int, page_size: int
) -> Dataset | None:
    """The golden copy in `folder`, None unless it is whole and exactly what is requested."""
    try:
        ready: Mapping[str, Any] = json.loads((folder / READY).read_text())
        asked = _identity(binary, warehouses, page_size)
        if any(ready[name] != value for name, value in asked.items()):
            return None
        take_data(folder / "data")
        if ready["bytes"] != directory_bytes(folder / "data"):
            return None
        return _dataset(folder, ready)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, LoadFailed):
        return None


def _identity(binary: ServerBinary, warehouses: int, page_size: int) -> dict[str, object]:
    return {
        "server_digest": binary.digest,
        "server_flavour": str(binary.flavour),
        "server_version": binary.version_text,
        "warehouses": warehouses,
        "page_size": page_size,
        "seed": rules.DEFAULT_SEED,
        "schema_version": rules.SCHEMA_VERSION,
    }


def _load(
    binary: ServerBinary,
    folder: Path,
    warehouses: int,
    page_size: int,
    jobs: int | None,
    progress: ProgressCallback,
    should_stop: Callable[[], bool],
) -> Dataset:
    loading = folder.with_name(f"{folder.name}{LOADING}{os.getpid()}")
    make_ours(loading)
    start = time.monotonic()
    try:
        report = fill(
            binary,
            device_dir=folder.parents[1],
            data_dir=loading / "data",
            run_dir=loading / "run",
            warehouses=warehouses,
            page_size=page_size,
            jobs=jobs,
            progress=progress,
            should_stop=should_stop,
        )
        delete(loading / "run")
        ready: dict[str, Any] = {
            **_identity(binary, warehouses, page_size),
            "bytes": directory_bytes(loading / "data"),
            "table_bytes": directory_bytes(loading / "data" / rules.DATABASE),
            "load_seconds": round(time.monotonic() - start, 3),
            "phase_seconds": {name: round(value, 3) for name, value in report.seconds.items()},
            "rows": dict(report.rows),
        }
        write_durably(loading / READY, json.dumps(ready, indent=2) + "\n")
        loading.rename(folder)
        sync_directory(folder.parent)
        return _dataset(folder, ready)
    except OSError as error:
        if error.errno not in NO_SPACE_ERRNOS:
            raise LoadFailed(f"{folder.parent}: {error}") from error
        raise RunFailed(Outcome.DISK_FULL, f"{folder.parent}: {error.strerror}") from error
    finally:
        if loading.exists():
            remove(loading)


def _dataset(folder: Path, ready: Mapping[str, Any]) -> Dataset:
    return Dataset(
        path=folder,
        warehouses=ready["warehouses"],
        page_size=ready["page_size"],
        server_digest=ready["server_digest"],
        bytes=ready["bytes"],
        load_seconds=ready["load_seconds"],
        table_bytes=ready["table_bytes"],
        rows=sum(ready["rows"].values()),
    )
