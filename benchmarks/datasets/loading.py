"""Processes that make rows of TPC-C and load them, with LOAD DATA from memory."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import register
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from benchmarks.datasets import rows, rules
from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.datasets.text import Bytes
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.processes.kills import blame_for_kill, oom_kills
from benchmarks.processes.users import ServerUser, become, server_user
from benchmarks.servers.instance import ServerInstance, pinned_socket

#: The order in which a warehouse's tables are loaded: processes meet in one table only at its end,
#: and each table is loaded in key order, so that its pages lie in key order on the disk.
TABLES = (
    "order_line",
    "stock",
    "customer",
    "orders",
    "history",
    "new_orders",
    "district",
    "warehouse",
)
#: The server's account, in a loading process.
_account: dict[str, str] = {}


def load_rows(
    instance: ServerInstance,
    warehouses: int,
    *,
    seed: int,
    jobs: int,
    on_rows: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> Mapping[str, int]:
    """Load all rows with `jobs` processes and return the rows of each table.

    `on_rows` is called with the number of rows that have just come in. Raises LoadFailed and
    RunFailed: CANCELLED, LOST, OUT_OF_MEMORY; every process has ended by then.
    """
    batches = [("item", 0), *((name, w) for w in range(1, warehouses + 1) for name in TABLES)]
    account = {
        "socket": str(instance.socket),
        "user": instance.admin.user,
        "password": instance.admin.password,
    }
    loaded = dict.fromkeys(("item", *TABLES), 0)
    done: queue.SimpleQueue[Future[int]] = queue.SimpleQueue()
    with _Pool(min(jobs, len(batches)), account) as pool:
        tables = {pool.submit(load_table, name, w, seed): name for name, w in batches}
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


def load_table(table: str, warehouse: int, seed: int) -> int:
    """Load a table's rows of one warehouse in a loading process; return their number.

    Only `item` belongs to no warehouse. Raises LoadFailed.
    """
    try:
        made = rows.item(seed) if table == "item" else rows.PER_WAREHOUSE[table](seed, warehouse)
        return send(_connected(), table, made)
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
            database=rules.DATABASE,
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
