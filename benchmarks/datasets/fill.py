"""From nothing to a loaded, cleanly shut down data directory."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql

from benchmarks.datasets.loader import LoadReport, default_jobs, load, plan
from benchmarks.datasets.options import (
    MARIADB_REDO_BYTES,
    can_disable_redo,
    can_resize_redo,
    load_options,
)
from benchmarks.datasets.pristine import ensure_pristine
from benchmarks.datasets.progress import Meter, ProgressCallback
from benchmarks.datasets.shared_folders import take_data
from benchmarks.datasets.statements import POLL_S, cancelled, execute_each, run_all
from benchmarks.errors import BenchmarkError, LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.datadir import copy_data_dir
from benchmarks.servers.errorlog import DISK_FULL
from benchmarks.servers.failures import find_trouble
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server

PREPARE = "preparing an empty server"
WRITE = "writing to disk"
STOP = "shutting the server down"

#: Files of a server that must not be in a golden copy: logs, and the
#: dump of the loading server's buffer pool, which would warm up runs.
_UNWANTED = ("ib_buffer_pool", "*.err", "*.pid", "binlog.*", "*-bin.*", "mysqld-auto.cnf")

_TABLE_FULL = re.compile(r"\b1114\b.*is full|\b1021\b")
_FULL_BELOW = 32 << 20
_STALLED_S = 60.0


def fill(
    binary: ServerBinary,
    *,
    device_dir: Path,
    data_dir: Path,
    run_dir: Path,
    warehouses: int,
    page_size: int,
    jobs: int | None,
    progress: ProgressCallback,
    should_stop: Callable[[], bool],
) -> LoadReport:
    """Make `data_dir`, load it, and shut down so that nothing is left to purge, flush or recover.

    `device_dir` is our folder on the device, where the empty data directory is kept.
    On failure the caller deletes both directories. Raises what `load` raises, RunFailed:
    DISK_FULL, CRASHED, OUT_OF_MEMORY or TIMED_OUT where that was the cause, and what starting a
    server raises.
    """
    jobs = jobs or default_jobs()
    # In proportion to a load on two processors; the server's start does not depend on size.
    seconds = {PREPARE: 6.0, **plan(warehouses), WRITE: 0.4 * warehouses, STOP: 2.0}
    meter = Meter(progress, seconds)
    options = load_options(binary, warehouses=warehouses, page_size=page_size, cpus=jobs)
    try:
        meter.enter(PREPARE)
        if should_stop():
            raise cancelled()
        pristine = ensure_pristine(
            binary, device_dir, page_size=page_size, should_stop=should_stop
        )
        copy_data_dir(pristine, data_dir, should_stop)
        with (
            running_server(
                binary,
                data_dir=data_dir,
                run_dir=run_dir,
                options=options,
                should_stop=should_stop,
                fast_shutdown=False,
            ) as instance,
            _abandoned_on_failure(instance),
        ):
            with _redo_aside(instance, should_stop):
                report = load(
                    instance, warehouses, jobs=jobs, should_stop=should_stop, meter=meter
                )
                meter.enter(WRITE)
                write_back(instance, meter.advance, should_stop)
            meter.enter(STOP)
    except BenchmarkError as error:
        raise _cause(error, data_dir) from error
    take_data(data_dir)
    remove_unwanted(data_dir)
    meter.finish()
    return LoadReport(report.rows, dict(meter.seconds))


def write_back(
    instance: ServerInstance,
    on_share: Callable[[float], None],
    should_stop: Callable[[], bool],
) -> None:
    """Have the server write its dirty pages, so that the shutdown, which cannot be cancelled,
    has little left to do.
    """
    with contextlib.closing(instance.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0")
        cursor.execute("SET GLOBAL innodb_max_dirty_pages_pct = 0")
    first = least = _dirty_pages(instance)
    progressed = time.monotonic()
    while least > 0 and time.monotonic() - progressed < _STALLED_S:
        if should_stop():
            raise cancelled()
        time.sleep(POLL_S)
        now = _dirty_pages(instance)
        if now < least:
            least, progressed = now, time.monotonic()
        on_share(1 - least / first)


def remove_unwanted(data_dir: Path) -> None:
    """Delete what belongs to the loading server and not to the data."""
    for pattern in _UNWANTED:
        for path in data_dir.glob(pattern):
            delete(path)


def _dirty_pages(instance: ServerInstance) -> int:
    return instance.status()["Innodb_buffer_pool_pages_dirty"]


@contextlib.contextmanager
def _redo_aside(instance: ServerInstance, should_stop: Callable[[], bool]) -> Iterator[None]:
    """No redo log inside the block where the server can do without, a large one where it can be
    shrunk. Afterwards it is as by default; after a failure that is not worth the time.
    """
    restore = []
    if can_disable_redo(instance.binary):
        with contextlib.closing(instance.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("ALTER INSTANCE DISABLE INNODB REDO_LOG")
        restore = ["ALTER INSTANCE ENABLE INNODB REDO_LOG"]
    elif can_resize_redo(instance.binary):
        restore = [f"SET GLOBAL innodb_log_file_size = {MARIADB_REDO_BYTES}"]
    yield
    run_all(instance, [execute_each(restore)], should_stop)


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


def _cause(error: BenchmarkError, data_dir: Path) -> BenchmarkError:
    """RunFailed(DISK_FULL) when that is what is behind an error, else the error itself."""
    if isinstance(error, RunFailed) and error.outcome is Outcome.CANCELLED:
        return error
    text = f"{error}\n{error.log_tail}"
    full = DISK_FULL.search(text) or _TABLE_FULL.search(text)
    if not full and shutil.disk_usage(data_dir.parent).free >= _FULL_BELOW:
        return error
    return RunFailed(
        Outcome.DISK_FULL,
        f"{data_dir.parent}: the disk is full before the dataset was loaded",
        log_tail=error.log_tail,
    )
