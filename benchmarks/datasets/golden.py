"""Golden copies: data is loaded once per server, source and page size, then only cloned."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql

from benchmarks.datasets.loading import (
    POLL_S,
    Meter,
    ProgressCallback,
    cancelled,
    execute_each,
    ignore,
    never,
    run_all,
)
from benchmarks.datasets.shared_folders import ensure_folder, server_key
from benchmarks.datasets.source import Dataset, DatasetSource
from benchmarks.engines import innodb
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.host.cgroups import available_memory
from benchmarks.outcomes import Outcome
from benchmarks.ownership import delete
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.datadir import create_data_dir
from benchmarks.servers.errorlog import DISK_FULL
from benchmarks.servers.failures import find_trouble
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from benchmarks.storage.copying import copy_tree
from benchmarks.storage.reserve import ReserveWatch

PREPARE = "preparing an empty server"
WRITE = "writing to disk"
STOP = "shutting the server down"
#: Raised whenever an initialized data directory changes.
_LAYOUT = 3
_EMPTY_BYTES = 400_000_000
#: Temporary files of index builds and the redo log while loading, per loaded byte.
_LOAD_SLACK = 1.1
#: The loading server's own files, which must not be in a golden copy.
_UNWANTED = (*innodb.UNWANTED_FILES, "*.err", "*.pid", "binlog.*", "*-bin.*", "mysqld-auto.cnf")
_TABLE_FULL = re.compile(r"\b1114\b.*is full|\b1021\b")
#: The shutdown, which cannot be cancelled, may write so many pages.
_FEW_PAGES = 100


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
    progress: ProgressCallback = ignore,
    should_stop: Callable[[], bool] = never,
) -> Dataset:
    """Find the golden copy in `device_dir` (our folder on a device) or load it there.

    Raises what `ensure_folder` raises, and RunFailed: CRASHED, OUT_OF_MEMORY, TIMED_OUT, NO_START.
    """
    options = innodb.template_options(page_size)

    def make(folder: Path) -> None:
        with ReserveWatch([folder.parent], should_stop) as watch:
            _fill(source, binary, device_dir, folder, page_size, progress, watch.should_stop)

    path, size = ensure_folder(
        device_dir,
        dataset_key(source, binary, page_size),
        {
            **_identity(binary, page_size),
            "version": source.version,
            "title": source.title,
            **source.identity,
        },
        make,
        needed_bytes=int(estimated_directory_bytes(source) * _LOAD_SLACK),
        progress=progress,
        should_stop=should_stop,
    )
    progress(1.0, "ready")
    return Dataset(path, size, options)


def initialized_data_dir(
    binary: ServerBinary,
    device_dir: Path,
    *,
    page_size: int = innodb.DEFAULT_PAGE_SIZE,
    should_stop: Callable[[], bool] = never,
) -> Path:
    """Return the empty data directory in `device_dir` (our folder on a device), made at need.

    There is one per server and page size. Never start a server on it: copy it, as every trial
    start and every load does. Takes some seconds the first time. Raises what `ensure_folder`
    raises, NotAServer and RunFailed: NO_START, TIMED_OUT.
    """
    options = innodb.empty_options(binary, page_size)
    folder, _ = ensure_folder(
        device_dir,
        server_key(binary, "empty", page_size, _LAYOUT),
        _identity(binary, page_size),
        lambda folder: create_data_dir(binary, folder / "data", options=options),
        needed_bytes=_EMPTY_BYTES,
        progress=ignore,
        should_stop=should_stop,
    )
    return folder / "data"


def _identity(binary: ServerBinary, page_size: int) -> dict[str, object]:
    return {
        "server_digest": binary.digest,
        "server_version": binary.version_text,
        "page_size": page_size,
    }


def _fill(
    source: DatasetSource,
    binary: ServerBinary,
    device_dir: Path,
    folder: Path,
    page_size: int,
    progress: ProgressCallback,
    should_stop: Callable[[], bool],
) -> None:
    """Make `data` in `folder`, load it, and leave nothing to purge, flush or recover."""
    data_dir = folder / "data"
    # Each thread keeps one of the server busy too, and neither waits for the disk.
    jobs = max(1, len(os.sched_getaffinity(0)))
    # Seconds on two processors; the server's start does not depend on size.
    load_s, write_s = 1.8 * source.data_bytes / 100e6, 0.4 * source.data_bytes / 100e6
    loading = {phase: load_s * share for phase, share in source.phases.items()}
    meter = Meter(progress, {PREPARE: 6.0, **loading, WRITE: write_s, STOP: 2.0})
    options: dict[str, str | None] = {
        "skip_log_bin": None,
        "performance_schema": "OFF",
        **innodb.load_options(
            binary,
            data_bytes=source.data_bytes,
            page_size=page_size,
            cpus=jobs,
            memory=available_memory(),
        ),
    }
    meter.enter(PREPARE)
    empty = initialized_data_dir(binary, device_dir, page_size=page_size, should_stop=should_stop)
    copy_tree(empty, lambda name: data_dir / name, should_stop, through_cache=True)
    with (
        running_server(
            binary,
            data_dir=data_dir,
            run_dir=folder / "run",
            options=options,
            should_stop=should_stop,
            fast_shutdown=False,
        ) as server,
        _killed_on_failure(server),
    ):
        run_all(server, [execute_each(innodb.before_load(binary))], should_stop)
        source.load(server, jobs, meter, should_stop)
        meter.enter(WRITE)
        _write_back(server, meter.advance, should_stop)
        run_all(server, [execute_each(innodb.after_load(binary))], should_stop)
        meter.enter(STOP)
    for pattern in _UNWANTED:
        for path in data_dir.glob(pattern):
            delete(path)
    delete(folder / "run")


def _write_back(
    server: ServerInstance, on_share: Callable[[float], None], should_stop: Callable[[], bool]
) -> None:
    """Write dirty pages before the shutdown, which cannot be cancelled."""
    run_all(server, [execute_each(innodb.WRITE_BACK)], should_stop)
    first = left = innodb.dirty_pages(server.status())
    while left > _FEW_PAGES:
        if should_stop():
            raise cancelled()
        time.sleep(POLL_S)
        left = innodb.dirty_pages(server.status())
        on_share(1 - left / first)


@contextlib.contextmanager
def _killed_on_failure(server: ServerInstance) -> Iterator[None]:
    """Kill the server when the block fails: a slow shutdown of rubbish could take minutes, and on
    a full disk would not end at all. Raises what was wrong with the server, if something was.
    """
    try:
        yield
    except BaseException as error:
        try:
            if not isinstance(error, pymysql.Error | LoadFailed | MemoryError):
                raise
            text, tail = f"loading failed: {error}", server.error_log_tail()
            if DISK_FULL.search(text) or _TABLE_FULL.search(text):
                raise RunFailed(Outcome.DISK_FULL, text, log_tail=tail) from error
            raise find_trouble(server) or LoadFailed(text, log_tail=tail) from error
        finally:
            server.kill()
