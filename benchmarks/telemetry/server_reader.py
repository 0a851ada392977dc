"""The counters of the server itself while a run lasts, for every driver alike.

Drivers report their transactions at the end only, and each in its own way. The server counts every
COMMIT that a client sends: read each second. Its write debt is read at both ends of the measured
interval.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.engines import innodb
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt

# A server that does not answer for so long stands still; nothing waits for these threads but the
# end of the run.
_TIMEOUT_S = 3
_PATIENCE = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), _TIMEOUT_S)
_COMMITS = "SHOW GLOBAL STATUS WHERE Variable_name = 'Com_commit'"
#: The driver's last second may be a hair shorter than one.
_HAIR_S = 0.05

Connect = Callable[..., "Connection[Cursor]"]
#: When the server read it, `time.monotonic()`, and what it owed.
_TimedDebt = tuple[float, DebtReading]


class ServerReader:
    """Context manager: reads over connections of its own, on threads of its own.

    Neither the driver's first and last second nor the sampler waits for a server that is slow to
    answer. `connect` takes pymysql's arguments, as `ServerInstance.connect` does.
    """

    def __init__(self, connect: Connect, *, period_s: float = 1.0) -> None:
        self._connect = connect
        self._period_s = period_s
        self._connection: Connection[Cursor] | None = None
        #: When the commits were read (`time.monotonic()`), and their number since the start.
        self.commits: list[tuple[float, int]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="server-reader", daemon=True)
        self._debts = ThreadPoolExecutor(1, "write-debt")
        self._start: Future[_TimedDebt] | None = None
        self._end: Future[_TimedDebt] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()
        self._debts.shutdown()

    def begin(self) -> None:
        """Have the write debt read at the beginning of the interval; does not wait."""
        self._start = self._debts.submit(_timed_debt, self._connect)

    def end(self) -> None:
        """Have the write debt read at the end of the interval; does not wait."""
        self._end = self._debts.submit(_timed_debt, self._connect)

    def write_debt(self, variables: Mapping[str, str]) -> WriteDebt:
        """Wait for both readings; `variables` are the server's own, names in lower case."""
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
        capacity = end.redo_capacity
        if capacity is None:
            capacity = innodb.redo_capacity(variables)
        return WriteDebt(start, end, seconds, capacity, missing)

    def commits_per_second(self, begin: float, end: float = float("inf")) -> list[int]:
        """Return the commits of each whole second from `begin` on, both `time.monotonic()`.

        Up to the last reading, or `end`. Between two readings the commits are spread evenly, also
        where the server did not answer for some seconds. Empty when the first reading came later
        than `begin`.
        """
        readings = list(self.commits)
        if not readings or readings[0][0] > begin:
            return []
        times, counts = np.array(readings).T
        # While the driver runs no second is complete before the reading after it.
        hair = 0.0 if math.isinf(end) else _HAIR_S
        seconds = max(0, int(min(times[-1], end) - begin + hair))
        at = np.interp(begin + np.arange(seconds + 1), times, counts)
        return [int(count) for count in np.diff(np.rint(at))]

    def newest_commits(self) -> tuple[float, int] | None:
        """Return the latest reading: its time and the commits since the server's start."""
        return self.commits[-1] if self.commits else None

    def _run(self) -> None:
        following = time.monotonic()
        while not self._ended.wait(max(0.0, following - time.monotonic())):
            self._count()
            # Readings that were missed are not made up for.
            missed = (time.monotonic() - following) // self._period_s
            following += self._period_s * (1 + missed)
        self._count()  # once more, so that the last second is covered
        self._drop()

    def _count(self) -> None:
        try:
            if self._connection is None:
                self._connection = self._connect(**_PATIENCE)
            at, rows = _status(self._connection, _COMMITS)
        except (pymysql.Error, OSError):
            # It may answer again; why it does not is for others to find out.
            self._drop()
            return
        self.commits += [(at, int(count)) for count in rows.values()]

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()
        self._connection = None


def read_debt(connect: Connect) -> DebtReading:
    """Read the server's write debt; raises pymysql.Error or OSError if it does not answer."""
    return _timed_debt(connect)[1]


def _timed_debt(connect: Connect) -> _TimedDebt:
    with contextlib.closing(connect(**_PATIENCE)) as connection:
        at, status = _status(connection, innodb.DEBT_QUERIES[0])
        with connection.cursor() as cursor:
            cursor.execute(innodb.DEBT_QUERIES[1])
            row: tuple[Any, ...] = cursor.fetchone() or ("", "", "")
    return at, DebtReading(**innodb.write_behind(status, str(row[2])))


def _status(connection: Connection[Cursor], query: str) -> tuple[float, dict[str, str]]:
    """Return when the server read its status variables, and their values by name."""
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
        return *reading.result(), ""
    except (pymysql.Error, OSError) as error:
        return 0.0, DebtReading(), f"the server did not answer: {error}"
