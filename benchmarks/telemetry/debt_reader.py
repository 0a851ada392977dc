"""Reads the server's write debt at both ends of the measured interval."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.engines import innodb
from benchmarks.telemetry.patience import patience
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt

# A server that stands still is not waited for: then the figures are missing, with the reason.
_TIMEOUT_S = 3
_Timed = tuple[float, DebtReading]
Connect = Callable[..., "Connection[Cursor]"]


class DebtReader:
    """Context manager with a connection of its own, on a thread of its own.

    The driver's first and last second must not wait for a server that is slow to answer.
    `connect` takes pymysql's arguments, as `ServerInstance.connect` does.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection[Cursor] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="debt")
        self._start: Future[_Timed] | None = None
        self._end: Future[_Timed] | None = None

    def __enter__(self) -> Self:
        self._thread.submit(self._open)
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread.submit(self._close)
        self._thread.shutdown()

    def begin(self) -> None:
        """Read what is owed now, as the beginning."""
        self._start = self._thread.submit(self._read)

    def end(self) -> None:
        """Read what is owed now, as the end."""
        self._end = self._thread.submit(self._read)

    def found(self, variables: Mapping[str, str]) -> WriteDebt:
        """Both readings, waited for; `variables` are the server's own, names in lower case."""
        began, start, why_start = _result(self._start)
        ended, end, why_end = _result(self._end)
        missing = {
            name: why_start or why_end or "the server does not report it"
            for name in vars(start)
            if name in _NEEDED and (getattr(start, name) is None or getattr(end, name) is None)
        }
        seconds = ended - began if began and ended else 0.0
        capacity = (
            innodb.redo_capacity(variables) if end.redo_capacity is None else end.redo_capacity
        )
        return WriteDebt(start, end, seconds, capacity, missing)

    def _open(self) -> Connection[Cursor]:
        self._connection = self._connect(**patience(_TIMEOUT_S))
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()

    def _read(self) -> _Timed:
        return _read(self._connection or self._open())


def read_debt(connect: Connect) -> DebtReading:
    """Read the server's write debt; raises pymysql.Error or OSError if it does not answer."""
    with contextlib.closing(connect(**patience(_TIMEOUT_S))) as connection:
        return _read(connection)[1]


def _read(connection: Connection[Cursor]) -> _Timed:
    with connection.cursor() as cursor:
        asked = time.monotonic()
        cursor.execute(innodb.DEBT_QUERIES[0])
        status = {str(name): str(value) for name, value in cursor.fetchall()}
        answered = time.monotonic()
        cursor.execute(innodb.DEBT_QUERIES[1])
        row: tuple[Any, ...] = cursor.fetchone() or ("", "", "")
    return (asked + answered) / 2, DebtReading(**innodb.write_behind(status, str(row[2])))


def _result(reading: Future[_Timed] | None) -> tuple[float, DebtReading, str]:
    """When, what, and why there is nothing."""
    if reading is None:
        return 0.0, DebtReading(), "it was not read"
    try:
        at, found = reading.result()
    except (pymysql.Error, OSError) as error:
        return 0.0, DebtReading(), f"the server did not answer: {error}"
    return at, found, ""


# All but the capacity of the redo log, which most servers say in a variable.
_NEEDED = frozenset(vars(DebtReading())) - {"redo_capacity"}
