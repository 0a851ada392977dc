"""Kinds of jobs: the rows of a kind, its work, and the columns that are stored for each ending."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic

from celery import current_app
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from benchmarks.errors import BenchmarkError
from benchmarks.jobs.heartbeat import Job, RowT
from benchmarks.jobs.unstored import Values
from benchmarks.models import Host
from benchmarks.outcomes import Outcome

logger = logging.getLogger(__name__)


class JobKind(ABC, Generic[RowT]):
    """Declares one kind; `benchmarks.jobs.engine` and `benchmarks.jobs.sweep` do the rest.

    A row waits (`waiting`), is claimed by one process (`running`) and is closed by one of the
    methods below. It belongs to the process whose claim it has (`ours`): a kind that keeps the
    claim of a lost row accepts a late result until the claim is cleared.
    """

    #: In logs and in the names of files with results.
    name: ClassVar[str]
    #: Name of the Celery message that says "wake up".
    task: ClassVar[str]
    #: Lookup from the row to its host.
    host: ClassVar[str] = "host"
    #: Whether a drained host leaves it in its queue.
    waits_while_drained: ClassVar[bool] = True
    #: Whether nothing else may be measured on this machine meanwhile.
    measures_this_machine: ClassVar[bool] = True
    waiting: ClassVar[Q] = Q(state="queued")
    running: ClassVar[Q] = Q(state="running")
    ours: ClassVar[Q] = Q(state__in=("running", "lost"))

    @property
    @abstractmethod
    def rows(self) -> QuerySet[RowT]:
        """All rows of this kind, with the related rows that `work` reads."""

    @abstractmethod
    def work(self, job: Job[RowT]) -> Values:
        """Do the job and return its ending; raises BenchmarkErrors for expected failures.

        Raises RunFailed if `job.should_stop` asked it to end.
        """

    def claimed(self) -> Values:
        """Return columns to write together with the claim; expressions are allowed here."""
        return {"state": "running", "started_at": Now()}

    def failed(self, row: RowT, error: BenchmarkError) -> Values:
        """Return the ending of a failed job; lost if its program was killed from outside."""
        if error.outcome is Outcome.LOST:
            return self.lost(row, str(error))
        return ended("failed", reason_code=error.code, reason=str(error), log_tail=error.log_tail)

    def cancelled(self, row: RowT) -> Values:
        """Return the ending of a job that a user cancelled."""
        return self.given_back(row, "cancelled by the user")

    def given_back(self, row: RowT, reason: str) -> Values:
        """Return the ending of a job whose worker was stopped before it was done."""
        return ended("cancelled", reason=reason)

    def lost(self, row: RowT, reason: str) -> Values:
        """Return the ending of a job whose worker died, went silent or lost its database."""
        return ended("lost", reason=reason)

    def write(self, row_id: int, ending: Values) -> None:
        """Write an ending to its rows, in its transaction."""
        self.rows.filter(pk=row_id).update(**ending)

    def changes(self, row_id: int) -> None:
        """Note that a row of this kind is claimed or ends; called first in its transaction."""

    def changed(self, row_id: int) -> None:
        """Note that a row of this kind was claimed or has ended; called last, as `changes`."""

    def running_on(self, host_id: int) -> QuerySet[RowT]:
        """Return the running jobs of a host, according to the rows."""
        return self.rows.filter(self.running, **{self.host: host_id})

    def host_of(self, row_id: int) -> int:
        """Return the host of a row."""
        return self.rows.values_list(self.host, flat=True).get(pk=row_id)


def ended(state: str, **columns: Any) -> Values:
    """Return the ending of a row that has a `state` and a `step`."""
    return {"state": state, "step": "", **columns}


def wake(task: str, row_id: int, host: Host) -> None:
    """Send a host's worker the message that a row waits for it.

    A message that gets lost costs seconds: the worker's sweep finds the row by itself.
    """
    try:
        current_app.send_task(task, args=[row_id], queue=host.queue)
    except (OperationalError, OSError) as error:
        # Redis is away, or this host may not send to that one (docs/how-to/connections.md).
        logger.warning("no message for %s, which will find %s(%s): %s", host, task, row_id, error)
