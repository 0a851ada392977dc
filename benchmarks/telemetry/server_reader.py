"""The counters of the server itself while a run lasts, for every driver alike.

Drivers report their transactions at the end only, and each in its own way. The server counts every
COMMIT that a client sends and the bytes of its redo log: read each second. Its write debt is read
at both ends of the measured interval.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Self

import numpy as np
import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.engines import innodb
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt

# A server that does not answer for so long stands still; nothing waits for this thread but the
# end of the run.
_TIMEOUT_S = 3
_PATIENCE = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), _TIMEOUT_S)
_COMMITS, _REDO = "Com_commit", innodb.REDO_WRITTEN
_COUNTERS = f"SHOW GLOBAL STATUS WHERE Variable_name IN ('{_COMMITS}', '{_REDO}')"
#: The driver's last second may be a hair shorter than one.
_HAIR_S = 0.05

Connect = Callable[..., "Connection[Cursor]"]
_TimedDebt = tuple[float, DebtReading]


class ServerReader:
    """Context manager: reads over a connection of its own, on a thread of its own.

    Neither the driver's first and last second nor the sampler waits for a server that is slow to
    answer. `connect` takes pymysql's arguments, as `ServerInstance.connect` does.
    """

    def __init__(self, connect: Connect, *, period_s: float = 1.0) -> None:
        self._connect = connect
        self._period_s = period_s
        self._connection: Connection[Cursor] | None = None
        self._lock = threading.Lock()
        self._commits: list[tuple[float, int]] = []
        self._redo: list[tuple[float, int]] = []
        self._start: Future[_TimedDebt] | None = None
        self._end: Future[_TimedDebt] | None = None
        # The debt readings that are wanted; None ends the thread.
        self._wanted: queue.SimpleQueue[Future[_TimedDebt] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="server-reader", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._wanted.put(None)
        self._thread.join()

    def begin(self) -> None:
        """Have the write debt read at the beginning of the interval; does not wait."""
        self._start = self._want()

    def end(self) -> None:
        """Have the write debt read at the end of the interval; does not wait."""
        self._end = self._want()

    def write_debt(self, variables: Mapping[str, str]) -> WriteDebt:
        """Both readings, waited for; `variables` are the server's own, names in lower case."""
        began, start, why_start = _result(self._start)
        ended, end, why_end = _result(self._end)
        missing = {
            name: why_start or why_end or "the server does not report it"
            for name in vars(start)
            # The capacity of the redo log is said in a variable by most servers.
            if name != "redo_capacity"
            and (getattr(start, name) is None or getattr(end, name) is None)
        }
        seconds = ended - began if began and ended else 0.0
        capacity = (
            innodb.redo_capacity(variables) if end.redo_capacity is None else end.redo_capacity
        )
        return WriteDebt(start, end, seconds, capacity, missing)

    def commits_per_second(self, begin: float, end: float = float("inf")) -> list[int]:
        """Commits in each whole second from `begin` on, both `time.monotonic()`.

        Up to the last reading, or `end`. Between two readings the commits are spread evenly, also
        where the server did not answer for some seconds. Empty when the first reading came later
        than `begin`.
        """
        with self._lock:
            readings = list(self._commits)
        if not readings or readings[0][0] > begin:
            return []
        times, counts = np.array(readings).T
        # While the driver runs no second is complete before the reading after it.
        hair = 0.0 if math.isinf(end) else _HAIR_S
        seconds = int(min(times[-1], end) - begin + hair)
        if seconds < 1:
            return []
        at = np.interp(begin + np.arange(seconds + 1), times, counts)
        return [int(count) for count in np.diff(np.rint(at))]

    def newest_commits(self) -> tuple[float, int] | None:
        """The latest reading: `time.monotonic()` and the commits since the server's start."""
        with self._lock:
            return self._commits[-1] if self._commits else None

    def redo_mb_s(self, begin: float, end: float) -> float | None:
        """10^6 bytes of redo log written per second of that time, both `time.monotonic()`.

        None where no readings cover it.
        """
        with self._lock:
            readings = list(self._redo)
        if not readings or readings[0][0] > begin or readings[-1][0] < end - _HAIR_S:
            return None
        times, counts = np.array(readings, dtype=float).T
        before, after = np.interp([begin, end], times, counts)
        return float(after - before) / (end - begin) / 1e6

    def _want(self) -> Future[_TimedDebt]:
        wanted: Future[_TimedDebt] = Future()
        self._wanted.put(wanted)
        return wanted

    def _run(self) -> None:
        following = time.monotonic()
        while True:
            self._count()
            late = time.monotonic() - following
            # Readings that were missed are not made up for.
            following += self._period_s * (1 + late // self._period_s)
            while (left := following - time.monotonic()) > 0:
                try:
                    wanted = self._wanted.get(timeout=left)
                except queue.Empty:
                    break
                if wanted is None:
                    self._count()  # once more, so that the last second is covered
                    self._drop()
                    return
                self._read_debt(wanted)

    def _count(self) -> None:
        try:
            at, rows = _status(self._connected(), _COUNTERS)
        except (pymysql.Error, OSError):
            # It may answer again; why it does not is for others to find out.
            self._drop()
            return
        with self._lock:
            for name, readings in ((_COMMITS, self._commits), (_REDO, self._redo)):
                if name in rows:
                    readings.append((at, int(rows[name])))

    def _read_debt(self, wanted: Future[_TimedDebt]) -> None:
        try:
            wanted.set_result(_debt(self._connected()))
        except Exception as error:
            self._drop()
            wanted.set_exception(error)

    def _connected(self) -> Connection[Cursor]:
        if self._connection is None:
            self._connection = self._connect(**_PATIENCE)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()
        self._connection = None


def read_debt(connect: Connect) -> DebtReading:
    """Read the server's write debt; raises pymysql.Error or OSError if it does not answer."""
    with contextlib.closing(connect(**_PATIENCE)) as connection:
        return _debt(connection)[1]


def _debt(connection: Connection[Cursor]) -> _TimedDebt:
    at, status = _status(connection, innodb.DEBT_QUERIES[0])
    with connection.cursor() as cursor:
        cursor.execute(innodb.DEBT_QUERIES[1])
        row: tuple[Any, ...] = cursor.fetchone() or ("", "", "")
    return at, DebtReading(**innodb.write_behind(status, str(row[2])))


def _status(connection: Connection[Cursor], query: str) -> tuple[float, dict[str, str]]:
    """Return status variables by name, and when the server read them."""
    asked = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(query)
        rows = {str(name): str(value) for name, value in cursor.fetchall()}
    return (asked + time.monotonic()) / 2, rows


def _result(reading: Future[_TimedDebt] | None) -> tuple[float, DebtReading, str]:
    """Return when and what was read, and why nothing was."""
    if reading is None:
        return 0.0, DebtReading(), "it was not read"
    try:
        return *reading.result(_TIMEOUT_S), ""
    except (pymysql.Error, OSError) as error:
        return 0.0, DebtReading(), f"the server did not answer: {error}"
