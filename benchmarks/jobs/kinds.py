"""Kinds of jobs: the rows of a kind, its work, and what is stored for each ending."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from benchmarks.models import JobRow
from benchmarks.outcomes import Outcome

RowT = TypeVar("RowT", bound=JobRow)

#: Column to value; the values can be written as JSON.
Values = dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """Values to store when a job ends: the columns of its row, and of the rows in `details`.

    With `is_final` the job's row also gets its `finished_at`.
    """

    values: Values
    details: list[Values] = field(default_factory=list)
    is_final: bool = True


@dataclass(frozen=True)
class Failure:
    """Why a job failed. `code` is a stable word for programs, `reason` a line for people.

    `field` is that of the request that it is about, "" if it is about none.
    """

    outcome: Outcome
    code: str
    reason: str
    log_tail: str = ""
    field: str = ""


@dataclass(frozen=True)
class Job(Generic[RowT]):
    """A running job.

    `report` takes columns that are stored with the next heartbeat. `keep` takes the ending that
    is stored if the job dies when only the clean-up is left.
    """

    row: RowT
    report: Callable[..., None]
    should_stop: Callable[[], bool]
    keep: Callable[[Ending], None]


class JobKind(ABC, Generic[RowT]):
    """Declares one kind; `benchmarks.jobs.engine` and `benchmarks.jobs.sweep` do the rest.

    A row waits (`waiting`), is claimed by one process (`running`) and is closed by one of the
    methods below. It belongs to the process whose claim it has (`ours`): a kind that keeps the
    claim of a lost row accepts a late result until the claim is cleared.
    """

    #: In logs and in the names of spooled files.
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
    #: Columns that say something only while it runs, and what is in them afterwards.
    passing: ClassVar[Values] = {}
    ours: ClassVar[Q] = Q(state__in=("running", "lost"))

    @property
    @abstractmethod
    def rows(self) -> QuerySet[RowT]:
        """All rows of this kind, with the related rows that `work` reads."""

    def claimed(self) -> Values:
        """Columns to write together with the claim; expressions are allowed here."""
        return {"state": "running", "started_at": Now()}

    @abstractmethod
    def work(self, job: Job[RowT]) -> Ending:
        """Do the job; raises BenchmarkErrors for expected failures.

        Raises RunFailed if `job.should_stop` asked it to end.
        """

    def failed(self, row: RowT, failure: Failure) -> Ending:
        """The ending of a job that failed; lost if its program was killed from outside."""
        if failure.outcome is Outcome.LOST:
            return self.lost(row, failure.reason)
        why = {"reason_code": failure.code, "reason": failure.reason, "log_tail": failure.log_tail}
        return Ending({"state": "failed", "step": "", **why})

    def cancelled(self, row: RowT) -> Ending:
        """The ending of a job that a user cancelled."""
        return self.given_back(row, "cancelled by the user")

    def given_back(self, row: RowT, reason: str) -> Ending:
        """The ending of a job whose worker was stopped before it was done."""
        return Ending({"state": "cancelled", "step": "", "reason": reason})

    def lost(self, row: RowT, reason: str) -> Ending:
        """The ending of a job whose worker died, went silent or lost its database."""
        return Ending({"state": "lost", "step": "", "reason": reason})

    def changes(self, row_id: int) -> None:
        """Note that a row of this kind is claimed or ends; called first in its transaction."""

    def changed(self, row_id: int) -> None:
        """Note that a row of this kind was claimed or has ended; called last, as `changes`."""

    def store_details(self, row_id: int, details: list[Values]) -> None:
        """Write the rows that belong to an ending, in its transaction."""

    def running_on(self, host_id: int) -> QuerySet[RowT]:
        """The running jobs of a host, according to the rows."""
        return self.rows.filter(self.running, **{self.host: host_id})

    def host_of(self, row_id: int) -> int:
        """The host of a row."""
        return self.rows.values_list(self.host, flat=True).get(pk=row_id)
