"""From an empty data directory to a loaded, cleanly shut down one."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql

from benchmarks.datasets.pristine import ensure_pristine
from benchmarks.datasets.progress import Meter, ProgressCallback
from benchmarks.datasets.source import DatasetSource
from benchmarks.datasets.statements import POLL_S, cancelled, execute_each, run_all
from benchmarks.engines import innodb
from benchmarks.errors import BenchmarkError, LoadFailed, RunFailed
from benchmarks.host.cgroups import available_memory
from benchmarks.outcomes import Outcome
from benchmarks.ownership import delete
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.errorlog import DISK_FULL
from benchmarks.servers.failures import find_trouble
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from benchmarks.storage.copying import copy_tree

PREPARE = "preparing an empty server"
WRITE = "writing to disk"
STOP = "shutting the server down"

#: The loading server's own files, which must not be in a golden copy.
_UNWANTED = (*innodb.UNWANTED_FILES, "*.err", "*.pid", "binlog.*", "*-bin.*", "mysqld-auto.cnf")
_MAX_PACKET = 64 << 20
_TABLE_FULL = re.compile(r"\b1114\b.*is full|\b1021\b")
_FULL_BELOW = 32 << 20
_STALLED_S = 60.0


def fill(
    source: DatasetSource,
    binary: ServerBinary,
    *,
    device_dir: Path,
    folder: Path,
    page_size: int,
    jobs: int,
    progress: ProgressCallback,
    should_stop: Callable[[], bool],
) -> None:
    """Make `data` in `folder`, load it, and leave nothing to purge, flush or recover.

    `device_dir` is our folder on the device, where the empty data directory is kept. On failure
    the caller deletes the folder.

    Raises what `source.load` raises, RunFailed: DISK_FULL, CRASHED, OUT_OF_MEMORY or TIMED_OUT
    where that was the cause, and what starting a server raises.
    """
    data_dir = folder / "data"
    # In proportion to a load on two processors; the server's start does not depend on size.
    write_s = 0.4 * source.data_bytes / 100e6
    meter = Meter(progress, {PREPARE: 6.0, **source.phases, WRITE: write_s, STOP: 2.0})
    options: dict[str, str | None] = {
        "local_infile": "ON",
        "skip_log_bin": None,
        "performance_schema": "OFF",
        "max_allowed_packet": str(_MAX_PACKET),
        **innodb.load_options(
            binary,
            data_bytes=source.data_bytes,
            page_size=page_size,
            cpus=jobs,
            memory=available_memory(),
        ),
    }
    try:
        meter.enter(PREPARE)
        if should_stop():
            raise cancelled()
        pristine = ensure_pristine(
            binary, device_dir, page_size=page_size, should_stop=should_stop
        )
        copy_tree(pristine, lambda name: data_dir / name, should_stop, through_cache=True)
        with (
            running_server(
                binary,
                data_dir=data_dir,
                run_dir=folder / "run",
                options=options,
                should_stop=should_stop,
                fast_shutdown=False,
            ) as instance,
            _abandoned_on_failure(instance),
        ):
            run_all(instance, [execute_each(innodb.before_load(binary))], should_stop)
            source.load(instance, jobs, meter, should_stop)
            meter.enter(WRITE)
            _write_back(instance, meter.advance, should_stop)
            run_all(instance, [execute_each(innodb.after_load(binary))], should_stop)
            meter.enter(STOP)
    except BenchmarkError as error:
        raise _cause(error, folder) from error
    for pattern in _UNWANTED:
        for path in data_dir.glob(pattern):
            delete(path)


def _write_back(
    instance: ServerInstance, on_share: Callable[[float], None], should_stop: Callable[[], bool]
) -> None:
    """Write dirty pages before the shutdown, which cannot be cancelled."""
    run_all(instance, [execute_each(innodb.WRITE_BACK)], should_stop)
    first = least = innodb.dirty_pages(instance.status())
    progressed = time.monotonic()
    while least > 0 and time.monotonic() - progressed < _STALLED_S:
        if should_stop():
            raise cancelled()
        time.sleep(POLL_S)
        now = innodb.dirty_pages(instance.status())
        if now < least:
            least, progressed = now, time.monotonic()
        on_share(1 - least / first)


@contextlib.contextmanager
def _abandoned_on_failure(instance: ServerInstance) -> Iterator[None]:
    """Kill the server when the block fails: a slow shutdown of rubbish could take minutes, and on
    a full disk would not end at all. Raises what was wrong with the server, if something was.
    """
    try:
        yield
    except BaseException as error:
        cause: BaseException = error
        try:
            if isinstance(error, pymysql.Error):
                cause = LoadFailed(f"loading failed: {error}")
            if isinstance(cause, LoadFailed):
                cause.log_tail = cause.log_tail or instance.error_log_tail()
                cause = find_trouble(instance) or cause
        finally:
            if instance.alive():
                instance.kill()
        if cause is error:
            raise
        raise cause from error


def _cause(error: BenchmarkError, folder: Path) -> BenchmarkError:
    """RunFailed(DISK_FULL) when that is what is behind an error, else the error itself."""
    if isinstance(error, RunFailed) and error.outcome is Outcome.CANCELLED:
        return error
    text = f"{error}\n{error.log_tail}"
    full = DISK_FULL.search(text) or _TABLE_FULL.search(text)
    if not full and shutil.disk_usage(folder.parent).free >= _FULL_BELOW:
        return error
    return RunFailed(
        Outcome.DISK_FULL,
        f"{folder.parent}: the disk is full before the dataset was loaded",
        log_tail=error.log_tail,
    )
