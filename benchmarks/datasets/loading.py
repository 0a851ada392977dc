"""Processes that make rows and load them, with LOAD DATA from memory."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import register
from pathlib import Path
from typing import Any, NamedTuple

import pymysql
from pymysql.connections import Connection

from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.datasets.text import Bytes
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.processes.kills import blame_for_kill, oom_kills
from benchmarks.processes.users import ServerUser, become, server_user
from benchmarks.servers.instance import ServerInstance, pinned_socket


class Batch(NamedTuple):
    """Rows of one table: `make`, a function of a module, gives them as LOAD DATA reads them."""

    table: str
    make: Callable[..., Bytes]
    arguments: tuple[int, ...]


#: The server's account and schema, in a loading process.
_account: dict[str, str] = {}


def load_rows(
    instance: ServerInstance,
    schema: str,
    batches: Sequence[Batch],
    *,
    jobs: int,
    on_rows: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> Mapping[str, int]:
    """Load the batches in their order with `jobs` processes; return the rows of each table.

    `on_rows` is called with the number of rows that have just come in. Raises LoadFailed and
    RunFailed: CANCELLED, LOST, OUT_OF_MEMORY; every process has ended by then.
    """
    account = {
        "socket": str(instance.socket),
        "user": instance.admin.user,
        "password": instance.admin.password,
        "database": schema,
    }
    loaded: Counter[str] = Counter()
    done: queue.SimpleQueue[Future[int]] = queue.SimpleQueue()
    with _Pool(min(jobs, len(batches)), account) as pool:
        tables = {pool.submit(load_batch, batch): batch.table for batch in batches}
        for future in tables:
            future.add_done_callback(done.put)
        left = len(batches)
        while left:
            if should_stop():
                raise cancelled()
            with suppress(queue.Empty):
                future = done.get(timeout=POLL_S)
                left -= 1
                count = pool.result(future)
                loaded[tables[future]] += count
                on_rows(count)
    return loaded


def load_batch(batch: Batch) -> int:
    """Load a batch in a loading process and return the number of its rows. Raises LoadFailed."""
    try:
        return send(_connected(), batch.table, batch.make(*batch.arguments))
    except (pymysql.Error, OSError, MemoryError, AttributeError) as error:
        # AttributeError: PyMySQL sends on a socket that it has given up, of a server that died.
        raise LoadFailed(f"a loading process failed: {type(error).__name__}: {error}") from error


def send(connection: Connection[Any], table: str, lines: Bytes) -> int:
    """Load the lines in one transaction and return the number of rows. LoadFailed on any loss.

    PyMySQL reads a file by name; one in memory needs no disk and leaves nothing behind.
    """
    with os.fdopen(os.memfd_create("oltp-advisor-rows"), "wb", buffering=0) as file:
        left = lines.data
        while left:
            left = left[file.write(left) :]
        with connection.cursor() as cursor:
            # binary: the rows are ASCII, which every character set of the servers contains.
            count: int = cursor.execute(
                f"LOAD DATA LOCAL INFILE '/proc/self/fd/{file.fileno()}'"
                f" INTO TABLE {table} CHARACTER SET binary"
            )
            # LOCAL turns errors, duplicate keys among them, into warnings.
            if cursor.execute("SHOW WARNINGS LIMIT 1"):
                raise LoadFailed(f"{table}: {cursor.fetchone()}")
    connection.commit()
    return count


def begin(account: Mapping[str, str], user: ServerUser | None) -> None:
    """Begin a loading process: it becomes the servers' user before its first word with the server.

    A server may ask for any file that its client can read. The process ends with its parent.
    """
    _account.update(account)
    os.setsid()  # Ctrl-C is for our parent, which ends us
    if user is not None:
        become(user)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _connected() -> Connection[Any]:
    with pinned_socket(Path(_account["socket"])) as name:
        connection = pymysql.connect(
            unix_socket=name,
            user=_account["user"],
            password=_account["password"],
            database=_account["database"],
            local_infile=True,
            autocommit=False,
        )
    with connection.cursor() as cursor:
        # unique_checks stays on: there is no secondary unique key to save work on, and
        # off it makes MariaDB load through temporary files, which took half as long again.
        cursor.execute("SET SESSION foreign_key_checks = 0")
    return connection


def _pickled(key: bytes) -> tuple[type[bytes], tuple[bytes]]:
    return bytes, (bytes(key),)


class _Pool:
    """Loading processes. Leaving the block on an error kills them."""

    def __init__(self, jobs: int, account: Mapping[str, str]) -> None:
        # Celery's processes are daemonic, and those may have no children. Their key is pickled for
        # Celery's children only.
        ours = multiprocessing.current_process()
        ours.daemon = False
        register(type(ours.authkey), _pickled)
        self._oom_kills_before = oom_kills()
        self._others = set(multiprocessing.active_children())
        self._children: list[BaseProcess] = []
        self._executor = ProcessPoolExecutor(
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=begin,
            initargs=(account, server_user()),
        )

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            for child in self._children:
                child.kill()
        self._executor.shutdown(cancel_futures=True)

    def submit(self, *call: Any) -> Future[int]:
        future = self._executor.submit(*call)
        if not self._children:  # the first call starts all of them
            self._children = list(set(multiprocessing.active_children()) - self._others)
        return future

    def result(self, future: Future[int]) -> int:
        try:
            return future.result()
        except BrokenProcessPool as error:
            self._executor.shutdown()
            raise self._blame() from error

    def _blame(self) -> LoadFailed | RunFailed:
        """Why a process ended; the pool itself ends the others with SIGTERM."""
        statuses = [child.exitcode for child in self._children]
        status = next((one for one in statuses if one not in (0, -signal.SIGTERM)), statuses[0])
        if blame := blame_for_kill("a loading process", status, self._oom_kills_before):
            return RunFailed(*blame)
        return LoadFailed(f"a loading process ended with status {status}")
