"""The row of a job while it runs: its heartbeat, and the requests that it should stop."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Self

from django.conf import settings
from django.db import Error, connections
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from benchmarks.models import JobState

logger = logging.getLogger(__name__)

CANCELLED = "cancelled"
WORKER_STOPPING = "worker_stopping"
WORKER_DIED = "worker_died"
TAKEN_AWAY = "taken_away"


def quiet() -> Q:
    """Return the condition of jobs not heard of for too long, by the database's clock.

    If that clock was set back, the last heartbeat is yet to come. The next one of a living job
    corrects that.
    """
    limit = timedelta(seconds=settings.LOST_AFTER_SECONDS)
    early, late = Q(heartbeat_at__lt=Now() - limit), Q(heartbeat_at__gt=Now() + limit)
    return Q(heartbeat_at=None) | early | late


def cancel_jobs(rows: QuerySet[Any], reason: str = "cancelled by the user") -> None:
    """Cancel those of these rows that wait or run; the running ones end within seconds.

    The waiting ones first: one that is claimed at the same moment is running at the second step.
    """
    cancel_waiting(rows, reason)
    rows.filter(state=JobState.RUNNING).update(stop_request=CANCELLED)


def cancel_waiting(rows: QuerySet[Any], reason: str) -> None:
    """Cancel those of these rows that wait: they never start."""
    rows.filter(state=JobState.QUEUED).update(
        state=JobState.CANCELLED, finished_at=Now(), reason=reason
    )


class Repeated:
    """A thread that calls `step` every so many seconds until the block ends.

    The step reads and writes a row, so that measuring never waits for the database. If that is
    unavailable, or the step has a bug, the next call tries again.
    """

    def __init__(self, step: Callable[[], None], period_s: float) -> None:
        self._step = step
        self._period_s = period_s
        self._due = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="row")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended = True
        self._due.set()
        self._thread.join()

    def soon(self) -> None:
        """Have the next call now; returns at once."""
        self._due.set()

    def _run(self) -> None:
        try:
            while True:
                self._due.wait(self._period_s)
                self._due.clear()
                if self._ended:
                    return
                try:
                    self._step()
                except Error as error:
                    logger.warning("the row of a job was not reached: %s", error)
                    connections["default"].close()
                except Exception:
                    # Without this thread the job would look dead, so it survives any bug.
                    logger.exception("the row of a job was not reached")
        finally:
            connections.close_all()


class Heartbeat(Repeated):
    """Sends a heartbeat every second until the block ends, and says whether the job should stop.

    `beat` stores the heartbeat and returns the row's stop request ("" for none).
    A Celery pool process outlives a killed worker: if our parent changes, we stop as well.
    A user's request takes precedence over every other reason to stop, even an earlier one.
    """

    def __init__(self, beat: Callable[[], str]) -> None:
        super().__init__(self._listen, settings.HEARTBEAT_SECONDS)
        self._beat = beat
        self._parent = os.getppid()
        self.stop_request = ""

    def should_stop(self) -> bool:
        if not self.stop_request and os.getppid() != self._parent:
            self.stop_request = WORKER_DIED
        return bool(self.stop_request)

    def _listen(self) -> None:
        heard = self._beat()
        if heard == CANCELLED or not self.stop_request:
            self.stop_request = heard
