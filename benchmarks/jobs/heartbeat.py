"""The heartbeat of a job, which also reads whether the job should stop."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import Error, connections
from django.db.models import Q
from django.db.models.functions import Now

logger = logging.getLogger(__name__)

CANCELLED = "cancelled"
WORKER_STOPPING = "worker_stopping"
WORKER_DIED = "worker_died"
TAKEN_AWAY = "taken_away"


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
        self._thread = threading.Thread(target=self._run, name="heartbeat")
        self.stop_request = ""

    def should_stop(self) -> bool:
        if not self.stop_request and os.getppid() != self._parent:
            self.stop_request = WORKER_DIED
        return bool(self.stop_request)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
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
            connections.close_all()
