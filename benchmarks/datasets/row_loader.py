"""The program that makes rows and loads them, with LOAD DATA from memory.

`loading.load_rows` starts it and writes an `Order` as JSON to its standard input. The program
prints a line of JSON for each batch, and one for what went wrong.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pymysql
from pymysql.connections import Connection

from benchmarks.datasets.text import Bytes
from benchmarks.errors import LoadFailed
from benchmarks.processes.users import ServerUser, become
from benchmarks.servers.instance import pinned_socket


class Order(NamedTuple):
    """The batches to load with `jobs` processes.

    `user` is whom they run as (name, uid, gid); None: as we do. A batch has a table, the name of
    the function that makes its rows, and the function's arguments.
    """

    account: Mapping[str, str]
    user: tuple[str, int, int] | None
    jobs: int
    batches: Sequence[tuple[str, str, Sequence[int]]]


#: The server's account and schema, in a loading process.
_account: dict[str, str] = {}


def main() -> None:
    order = Order(*json.load(sys.stdin))
    user = ServerUser(*order.user) if order.user else None
    makers = sorted({make for _, make, _ in order.batches})
    with ProcessPoolExecutor(
        order.jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=begin,
        initargs=(order.account, user, makers),
    ) as pool:
        tables = {pool.submit(load_batch, *batch): batch[0] for batch in order.batches}
        children = multiprocessing.active_children()
        try:
            for future in as_completed(tables):
                _tell(table=tables[future], rows=future.result())
        except LoadFailed as error:
            _tell(failed=str(error))
        except BrokenProcessPool:
            pool.shutdown()  # which ends the other processes with SIGTERM
            statuses = [child.exitcode for child in children]
            first = next((one for one in statuses if one not in (0, -signal.SIGTERM)), statuses[0])
            _tell(status=first)


def _tell(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def begin(account: Mapping[str, str], user: ServerUser | None, makers: Sequence[str]) -> None:
    """Begin a loading process: it becomes the servers' user before its first word with the server.

    A server may ask for any file that its client can read. That user may not be able to import the
    makers of rows. The process ends with its parent.
    """
    for maker in makers:
        resolve_name(maker)
    _account.update(account)
    if user is not None:
        become(user)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def load_batch(table: str, make: str, arguments: Sequence[int]) -> int:
    """Load a batch in a loading process and return the number of its rows. Raises LoadFailed."""
    try:
        return send(_connected(), table, resolve_name(make)(*arguments))
    except AttributeError as error:  # PyMySQL sends on the socket that a dead server closed
        raise LoadFailed("a loading process failed: Lost connection to the server") from error
    except (pymysql.Error, OSError, MemoryError) as error:
        raise LoadFailed(f"a loading process failed: {type(error).__name__}: {error}") from error


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
