"""The server's commits per second and its redo log while a run lasts, for every driver alike.

Drivers report their transactions at the end only, and each in its own way. The server counts every
COMMIT that a client sends (`Com_commit`). The bytes of redo log come with the same answer.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from typing import Self

import numpy as np
import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.engines.innodb import REDO_WRITTEN
from benchmarks.telemetry.patience import patience

# A server that does not answer for so long stands still; nothing waits for this thread but the
# end of the run.
_TIMEOUT_S = 2
_COMMITS, _REDO = "Com_commit", REDO_WRITTEN
_QUERY = f"SHOW GLOBAL STATUS WHERE Variable_name IN ('{_COMMITS}', '{_REDO}')"


class CommitCounter:
    """Context manager: reads both counters once a period, over a connection of its own.

    A thread apart from the sampler's, which must not be late when the server does not answer.
    `connect` takes pymysql's arguments, as `ServerInstance.connect` does.
    """

    def __init__(
        self, connect: Callable[..., Connection[Cursor]], *, period_s: float = 1.0
    ) -> None:
        self._connect = connect
        self._period_s = period_s
        self._connection: Connection[Cursor] | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._readings: list[tuple[float, int]] = []
        self._redo: list[tuple[float, int]] = []
        self._thread = threading.Thread(target=self._run, name="commits", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopping.set()
        self._thread.join()

    def per_second(self, begin: float, end: float = float("inf")) -> list[int]:
        """Commits in each whole second from `begin` on, both `time.monotonic()`.

        Up to the last reading, or `end`. Between two readings the commits are spread evenly, also
        where the server did not answer for some seconds. Empty when the first reading came later
        than `begin`.
        """
        with self._lock:
            readings = list(self._readings)
        if not readings or readings[0][0] > begin:
            return []
        times, counts = np.array(readings).T
        # The driver's last second may be a hair shorter than one; while it runs, none is complete
        # before the reading after it.
        hair = 0.0 if math.isinf(end) else _HAIR_S
        seconds = int(min(times[-1], end) - begin + hair)
        if seconds < 1:
            return []
        at = np.interp(begin + np.arange(seconds + 1), times, counts)
        return [int(count) for count in np.diff(np.rint(at))]

    def newest(self) -> tuple[float, int] | None:
        """The latest reading: `time.monotonic()` and the commits since the server's start."""
        with self._lock:
            return self._readings[-1] if self._readings else None

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

    def _run(self) -> None:
        following = time.monotonic()
        while True:
            # Also once more at the end, so that the last second is covered.
            last = self._stopping.is_set()
            self._read()
            if last:
                break
            late = time.monotonic() - following
            # Readings that were missed are not made up for.
            following += self._period_s * (1 + late // self._period_s)
            self._stopping.wait(max(0.0, following - time.monotonic()))
        self._drop()

    def _read(self) -> None:
        try:
            if self._connection is None:
                self._connection = self._connect(**patience(_TIMEOUT_S))
            asked = time.monotonic()
            with self._connection.cursor() as cursor:
                cursor.execute(_QUERY)
                rows = dict(cursor.fetchall())
            answered = time.monotonic()
        except (pymysql.Error, OSError):
            # It may answer again; why it does not is for others to find out.
            self._drop()
            return
        at = (asked + answered) / 2
        with self._lock:
            for name, readings in ((_COMMITS, self._readings), (_REDO, self._redo)):
                if name in rows:
                    readings.append((at, int(rows[name])))

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()
        self._connection = None


_HAIR_S = 0.05
