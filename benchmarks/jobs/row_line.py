"""A thread that reads and writes one row: the measurement never waits for the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Self

from django.db import Error, connections

from benchmarks.jobs.kinds import Values

logger = logging.getLogger(__name__)

#: Between two looks, in seconds: while something is expected, and while nothing is.
SOON_S, SELDOM_S = 0.2, 1.0


class RowLine:
    """Context manager; `exchange` writes the given columns, if any, and returns what it reads.

    `latest` is what was read last, None before that and if the row is no longer there. If the
    database is unavailable, what is to be written is kept, and the next look tries again.
    """

    def __init__(self, exchange: Callable[[Values], Values | None]) -> None:
        self._exchange = exchange
        self._pending: Values = {}
        self._changed = threading.Condition()
        self._ended = False
        self._read = threading.Event()
        self._thread = threading.Thread(target=self._run, name="row-line", daemon=True)
        self.period_s = SOON_S
        self.latest: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def write(self, **values: Any) -> None:
        """Write these columns as soon as possible; returns at once."""
        with self._changed:
            self._pending |= values
            self._changed.notify()

    def wait_for_news(self, timeout: float) -> None:
        """Wait until the row was read once more, at most so many seconds."""
        self._read.clear()
        self._read.wait(timeout)

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    last, values = self._ended, self._pending
                    self._pending = {}
                self._look(values)
                with self._changed:
                    if last:
                        return
                    if not self._pending and not self._ended:
                        self._changed.wait(self.period_s)
        finally:
            connections.close_all()

    def _look(self, values: Values) -> None:
        try:
            self.latest = self._exchange(values)
        except Error as error:
            logger.warning("the row of a load was not reached: %s", error)
            connections["default"].close()
            with self._changed:
                self._pending = values | self._pending
        except Exception:
            # Without this thread nothing would be told any more, so it survives any bug.
            logger.exception("the row of a load was not reached")
        else:
            self._read.set()
