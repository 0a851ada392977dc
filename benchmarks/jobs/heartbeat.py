"""A running job: its heartbeat, what it reports, and the requests that it should stop."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, Self, TypeVar

from django.conf import settings
from django.db import Error, connections, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from benchmarks.jobs.unstored import Unstored, Values
from benchmarks.models import JobRow, JobState

RowT = TypeVar("RowT", bound=JobRow)

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
    """Cancel the rows that wait or run; the running ones end within seconds.

    The waiting ones first: one that is claimed at the same moment is running at the second step.
    """
    cancel_waiting(rows, reason)
    rows.filter(state=JobState.RUNNING).update(stop_request=CANCELLED)


def cancel_waiting(rows: QuerySet[Any], reason: str) -> None:
    """Cancel the rows that wait: they never start."""
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


class Job(Repeated, Generic[RowT]):
    """A running job, which sends its heartbeat every second until the block ends.

    `mine` is the query for its row as long as that is ours.
    """

    def __init__(self, kind: str, row: RowT, mine: QuerySet[RowT]) -> None:
        super().__init__(self._beat, settings.HEARTBEAT_SECONDS)
        self.row = row
        self.kept: Values | None = None
        self.stop_request = ""
        self._kind = kind
        self._mine = mine
        self._reported: Values = {}
        self._began = time.monotonic()
        self._parent = os.getppid()

    def report(self, **columns: Any) -> None:
        """Store these columns with the next heartbeat."""
        self._reported = self._reported | columns

    def report_now(self, **columns: Any) -> None:
        """Store these columns at once; does not wait for the database."""
        self.report(**columns)
        self.soon()

    def should_stop(self) -> bool:
        """Whether the job is to end early; a Celery pool process outlives a killed worker."""
        if not self.stop_request and os.getppid() != self._parent:
            self.stop_request = WORKER_DIED
        return bool(self.stop_request)

    def keep(self, ending: Values) -> None:
        """Write to disk the ending that is stored if the job dies when only clean-up is left."""
        self.kept = ending
        self.result(ending).write()

    def result(self, ending: Values) -> Unstored:
        """Return the ending as it is stored, with its time if it is final."""
        values: Values = _without_nul(ending)
        if is_final(ending) and self.row.heartbeat_at is not None:
            # The database's clock, as for all times of the row: ours may have been set meanwhile.
            passed = timedelta(seconds=time.monotonic() - self._began)
            values["finished_at"] = self.row.heartbeat_at + passed
        return Unstored(self._kind, self.row.pk, self.row.claimed_by, values)

    def _beat(self) -> None:
        with transaction.atomic():
            # First the row's lock, which may take time; then the time by the database's clock.
            heard = stop_request(self._mine)
            if heard is not None:
                self._mine.update(heartbeat_at=Now(), **self._reported)
        if heard is None:
            heard = TAKEN_AWAY
        # A user's request outweighs every other reason to stop, even an earlier one.
        if heard == CANCELLED or not self.stop_request:
            self.stop_request = heard


def stop_request(rows: QuerySet[RowT]) -> str | None:
    """Return why the job of a row should stop, "" for no reason; None if there is no such row.

    The row is locked until the end of the transaction.
    """
    return rows.select_for_update().values_list("stop_request", flat=True).first()


def is_final(ending: Values) -> bool:
    """Whether an ending closes its row: it has a state, and that is not "running"."""
    return ending.get("state", "running") != "running"


def _without_nul(value: Any) -> Any:
    """Remove NUL, which PostgreSQL refuses in text and JSON; a truncated log may contain it."""
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_without_nul(held) for held in value]
    return value.replace("\0", "") if isinstance(value, str) else value
