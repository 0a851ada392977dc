"""Golden copies: data is loaded once per server, source and page size, then only cloned."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.datasets.fill import fill
from benchmarks.datasets.progress import ProgressCallback, ignore, never
from benchmarks.datasets.shared_folders import ensure_folder, server_key
from benchmarks.datasets.source import Dataset, DatasetSource
from benchmarks.engines import innodb
from benchmarks.ownership import delete
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.reserve import ReserveWatch

#: Temporary files of index builds and the redo log while loading, per loaded byte.
_LOAD_SLACK = 1.1


def dataset_key(source: DatasetSource, binary: ServerBinary, page_size: int) -> str:
    """Return the folder name of a golden copy."""
    return server_key(binary, source.name, page_size, source.version)


def estimated_directory_bytes(source: DatasetSource) -> int:
    """Return about how much disk a golden copy or a clone takes, the server's files included."""
    return source.data_bytes + innodb.SYSTEM_BYTES


def ensure_dataset(
    source: DatasetSource,
    binary: ServerBinary,
    *,
    device_dir: Path,
    page_size: int = innodb.DEFAULT_PAGE_SIZE,
    jobs: int | None = None,
    progress: ProgressCallback = ignore,
    should_stop: Callable[[], bool] = never,
) -> Dataset:
    """Find the golden copy in `device_dir` (our folder on a device) or load it there.

    jobs: loading processes, by default one for each processor that we may use.

    Raises what `ensure_folder` raises, and RunFailed: CRASHED, OUT_OF_MEMORY, TIMED_OUT, NO_START.
    """
    options = innodb.template_options(page_size)
    identity = {
        "server_digest": binary.digest,
        "server_flavour": str(binary.flavour),
        "server_version": binary.version_text,
        "page_size": page_size,
        "schema_version": source.version,
        "title": source.title,
        **source.identity,
    }

    def make(folder: Path) -> None:
        with ReserveWatch([folder.parent], should_stop) as watch:
            fill(
                source,
                binary,
                device_dir=device_dir,
                folder=folder,
                page_size=page_size,
                # Each keeps a thread of the server busy too, and neither waits for the disk.
                jobs=jobs or max(1, len(os.sched_getaffinity(0))),
                progress=progress,
                should_stop=watch.should_stop,
            )
        delete(folder / "run")

    path, ready = ensure_folder(
        device_dir,
        dataset_key(source, binary, page_size),
        identity,
        make,
        needed_bytes=int(estimated_directory_bytes(source) * _LOAD_SLACK),
        progress=progress,
        should_stop=should_stop,
    )
    progress(1.0, "ready")
    return Dataset(path, ready["bytes"], options)
