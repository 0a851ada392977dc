"""The heartbeat of a job, which also reads whether the job should stop."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

from django.conf import settings
from django.db import Error, close_old_connections, connections
from django.db.models import Q
from django.db.models.functions import Now

logger = logging.getLogger(__name__)

CANCELLED = "cancelled"
WORKER_STOPPING = "worker_stopping"
WORKER_DIED = "worker_died"
TAKEN_AWAY = "taken_away"


# A thread that has ended a heartbeat does the next one, with the connection it has.
_THREADS = ThreadPoolExecutor(max_workers=1000, thread_name_prefix="heartbeat")


def quiet() -> Q:
    """The condition of jobs whose last heartbeat is too long ago, by the database's clock."""
    limit = Now() - timedelta(seconds=settings.LOST_AFTER_SECONDS)
    return Q(heartbeat_at=None) | Q(heartbeat_at__lt=limit)


def ahead() -> Q:
    """The condition of jobs whose last heartbeat is yet to come: the database's clock was set back
    after it. Of a job that lives the next one puts that right.
    """
    return Q(heartbeat_at__gt=Now() + timedelta(seconds=settings.LOST_AFTER_SECONDS))


class Heartbeat:
    """A thread that calls `beat` every second until the block ends.

    `beat` stores the heartbeat and returns the row's stop request ("" for none). If the database
    is unavailable for a moment, the measurement continues and the next beat tries again.
    A Celery pool process outlives a killed worker: if our parent changes, we stop as well.
    A user's request takes precedence over every other reason to stop, even an earlier one.
    """

    def __init__(self, beat: Callable[[], str]) -> None:
        self._beat = beat
        self._parent = os.getppid()
        self._ended = threading.Event()
        self._running: Future[None] | None = None
        self.stop_request = ""

    def should_stop(self) -> bool:
        if not self.stop_request and os.getppid() != self._parent:
            self.stop_request = WORKER_DIED
        return bool(self.stop_request)

    def __enter__(self) -> Heartbeat:
        self._running = _THREADS.submit(self._run)
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        if self._running is not None:
            self._running.result()

    def _run(self) -> None:
        close_old_connections()
        try:
            while not self._ended.wait(settings.HEARTBEAT_SECONDS):
                try:
                    heard = self._beat()
                except Error as error:
                    logger.warning("heartbeat not stored: %s", error)
                    connections["default"].close()
                    continue
                except Exception:
                    # Without this thread the job would look dead, so it survives any bug.
                    logger.exception("heartbeat not stored")
                    continue
                if heard == CANCELLED or not self.stop_request:
                    self.stop_request = heard
        finally:
            _put_away_connections()


def _put_away_connections() -> None:
    """For the thread's next heartbeat, where connections are kept at all."""
    for connection in connections.all(initialized_only=True):
        if connection.settings_dict["CONN_MAX_AGE"] == 0:
            connection.close()
            del connections[connection.alias]
    close_old_connections()
