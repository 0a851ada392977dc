"""What a kind of job is: its rows, what it does with one, and how each way to end is written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from django.db.models import Q, QuerySet

from benchmarks.models import JobRow
from benchmarks.outcomes import Outcome

RowT = TypeVar("RowT", bound=JobRow)

#: Column to value, such that JSON can hold it.
Values = dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """What is written when a job ends: columns of its row, and the `details` that belong to it,
    columns of one row each. With `is_final` the job's row also gets its `finished_at`.
    """

    values: Values
    details: list[Values] = field(default_factory=list)
    is_final: bool = True


@dataclass(frozen=True)
class Failure:
    """Why a job failed. `code` is a stable word for programs, `reason` a line for people."""

    outcome: Outcome
    code: str
    reason: str
    log_tail: str = ""


@dataclass(frozen=True)
class Job(Generic[RowT]):
    """A job under way. `report` takes columns that are stored with the next heartbeat, `keep` what
    is stored should only tidying up be left and the job not come to its end.
    """

    row: RowT
    report: Callable[..., None]
    should_stop: Callable[[], bool]
    keep: Callable[[Ending], None]


class JobKind(ABC, Generic[RowT]):
    """Declares one kind; `benchmarks.jobs.engine` and `benchmarks.jobs.sweep` do the rest.

    A row waits (`waiting`), is claimed by one process (`running`) and is closed by one of the
    methods below. It belongs to the process whose claim stands in it (`ours`): a kind that keeps
    the claim in a row that was given up for lost takes what comes late, until somebody clears it.
    """

    #: In logs and in the names of spooled files.
    name: ClassVar[str]
    #: Of the Celery message that says "wake up".
    task: ClassVar[str]
    #: From the row to its host.
    host: ClassVar[str] = "host"
    waiting: ClassVar[Q] = Q(state="queued")
    running: ClassVar[Q] = Q(state="running")
    ours: ClassVar[Q] = Q(state__in=("running", "lost"))

    @property
    @abstractmethod
    def rows(self) -> QuerySet[RowT]:
        """All rows of this kind, with what `work` reads of other tables."""

    def claimed(self) -> Values:
        """What is written beside the claim; expressions are allowed here."""
        return {}

    @abstractmethod
    def work(self, job: Job[RowT]) -> Ending:
        """Do it; raises whatever is in the way, BenchmarkErrors for what can be expected.

        RunFailed ends it because of `job.should_stop`, where that was asked for.
        """

    @abstractmethod
    def failed(self, row: RowT, failure: Failure) -> Ending:
        """It could not be done."""

    def cancelled(self, row: RowT) -> Ending:
        """A user did not want it any more."""
        return self.given_back(row, "cancelled by the user")

    def given_back(self, row: RowT, reason: str) -> Ending:
        """Its worker ended in good order before it was done."""
        return Ending({"state": "cancelled", "step": "", "reason": reason})

    def lost(self, row: RowT, reason: str) -> Ending:
        """Its worker died or went silent, or took its database away."""
        return Ending({"state": "lost", "step": "", "reason": reason})

    def store_details(self, row_id: int, details: list[Values]) -> None:
        """Write the rows that belong to an ending, in its transaction."""

    def running_on(self, host_id: int) -> QuerySet[RowT]:
        """What a host is doing, as its rows say."""
        return self.rows.filter(self.running, **{self.host: host_id})

    def host_of(self, row_id: int) -> int:
        """The host of a row."""
        return self.rows.values_list(self.host, flat=True).get(pk=row_id)
