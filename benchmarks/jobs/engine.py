"""Does one job of whatever kind: claim its row, work, close the row. The row is the only truth."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import Any

from django.db import (
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    transaction,
)
from django.db.models import Case, CharField, F, Q, Value, When
from django.db.models.functions import Now

from benchmarks.errors import NO_SPACE_ERRNOS, BenchmarkError, RunFailed
from benchmarks.jobs.claims import claimant, measuring_alone
from benchmarks.jobs.heartbeat import (
    CANCELLED,
    TAKEN_AWAY,
    WORKER_DIED,
    WORKER_STOPPING,
    Heartbeat,
)
from benchmarks.jobs.kinds import Ending, Failure, Job, JobKind, RowT, Values
from benchmarks.jobs.spool import Note
from benchmarks.outcomes import Outcome

logger = logging.getLogger(__name__)

#: The database is away, busy or takes nothing (PostgreSQL's InternalError of one that may only be
#: read), which says nothing of what was asked of it.
AWAY = (OperationalError, InterfaceError, InternalError)
#: So long the process that did a job tries to store how it ended, in seconds, before it leaves
#: the file to the sweep; waits between two tries double up to the longest.
STORE_PATIENCE_S = 20.0
_FIRST_WAIT_S = 0.25
_MAX_WAIT_S = 8.0

# What the worker wished for itself ends with the job; what the user wished for stays.
_WISH_OF_THE_USER = Case(
    When(stop_request=WORKER_STOPPING, then=Value("")),
    default=F("stop_request"),
    output_field=CharField(),
)


def execute(kind: JobKind[RowT], row_id: int) -> bool:
    """Do that job if nobody else does; False when there was nothing to do, or not now.

    Messages that come twice or late end here: only the process that claims the row goes on, and
    never beside another one that measures on this host.
    """
    with measuring_alone() as held:
        row = _claim(kind, row_id) if held else None
        if row is None:
            return False
        _do(kind, row)
    return True


def store(
    kind: JobKind[RowT], row_id: int, claim: str, ending: Ending, *, only: Q | None = None
) -> bool:
    """Write how a job ended; False when the row is no longer of that claim. Raises Error.

    `only`: what else must still be so of the row.
    """
    values: Values = {"stop_request": _WISH_OF_THE_USER}
    if ending.is_final:
        values["finished_at"] = Now()
    values.update(ending.values)
    mine = kind.rows.filter(kind.ours if only is None else only, pk=row_id, claimed_by=claim)
    with transaction.atomic():
        if not mine.update(**values):
            return False
        kind.store_details(row_id, ending.details)
    return True


def _claim(kind: JobKind[RowT], row_id: int) -> RowT | None:
    waiting = kind.rows.filter(kind.waiting, pk=row_id)
    now = Now()
    values: Values = {**kind.claimed(), "claimed_by": claimant(), "heartbeat_at": now}
    try:
        # A claim whose row could not be read would be held by a process that does nothing for it.
        with transaction.atomic():
            return kind.rows.get(pk=row_id) if waiting.update(**values) else None
    except IntegrityError:
        # The row of a process that died is still said to run; the sweep will see to that.
        return None


def _do(kind: JobKind[RowT], row: RowT) -> None:
    began = time.monotonic()
    mine = kind.rows.filter(kind.running, pk=row.pk, claimed_by=row.claimed_by)
    latest: Values = {}

    def beat() -> str:
        with transaction.atomic():
            # First the row, which may mean to wait; then the time, by the database's clock.
            request = mine.select_for_update().values_list("stop_request", flat=True).first()
            mine.update(heartbeat_at=Now(), **latest)
        return TAKEN_AWAY if request is None else request

    def report(**columns: Any) -> None:
        nonlocal latest
        latest = {**latest, **columns}

    with Heartbeat(beat) as pulse:
        try:
            ending = _ending(kind, Job(row, report, pulse.should_stop), pulse)
        except BaseException:
            # SystemExit of a cold shutdown of the worker: the row must not stay `running`.
            _keep(kind, row, began, kind.given_back(row, "the worker was terminated"))
            raise
        if ending is not None:
            _keep(kind, row, began, ending)


def _ending(kind: JobKind[RowT], job: Job[RowT], pulse: Heartbeat) -> Ending | None:
    """How it ended, whatever happens; None for what was taken away from us."""
    try:
        return kind.work(job)
    except RunFailed as failed:
        if pulse.stop_request:
            return _stopped(kind, job.row, pulse.stop_request)
        failure = Failure(failed.outcome, failed.code, str(failed), failed.log_tail)
    except BenchmarkError as error:
        failure = Failure(Outcome.SETUP_FAILED, error.code, str(error), error.log_tail)
    except AWAY as error:
        return kind.lost(job.row, f"the advisor's database was away: {error}")
    except OSError as error:
        outcome = Outcome.DISK_FULL if error.errno in NO_SPACE_ERRNOS else Outcome.SETUP_FAILED
        failure = Failure(outcome, outcome.value, str(error))
    except Exception as bug:
        logger.exception("%s %s: internal error", kind.name, job.row.pk)
        failure = _bug(f"{type(bug).__name__}: {bug}")
    return kind.failed(job.row, failure)


def _stopped(kind: JobKind[RowT], row: RowT, request: str) -> Ending | None:
    if request == TAKEN_AWAY:
        logger.warning("%s %s was given up for lost meanwhile", kind.name, row.pk)
        return None
    if request == CANCELLED:
        return kind.cancelled(row)
    if request == WORKER_DIED:
        return kind.lost(row, "the worker died")
    return kind.given_back(row, "the worker was stopped")


def _bug(text: str) -> Failure:
    return Failure(Outcome.INTERNAL_ERROR, Outcome.INTERNAL_ERROR.value, text)


def _keep(kind: JobKind[RowT], row: RowT, began: float, ending: Ending) -> None:
    """Store how it ended, and have it on disk until it is."""
    if ending.is_final and row.heartbeat_at is not None:
        # By the database's clock, as all times of the row are, and whatever was set meanwhile.
        ended = row.heartbeat_at + timedelta(seconds=time.monotonic() - began)
        ending = replace(ending, values={**ending.values, "finished_at": ended})
    # PostgreSQL has no text with NUL, which a log that was cut off may hold.
    texts = {k: v.replace("\0", "") for k, v in ending.values.items() if isinstance(v, str)}
    ending = replace(ending, values=ending.values | texts)
    note = Note(kind.name, row.pk, row.claimed_by, ending)
    deadline = time.monotonic() + (STORE_PATIENCE_S if _is_written(note) else inf)
    wait_s = _FIRST_WAIT_S
    while not settle(kind, note):
        if time.monotonic() > deadline:
            logger.error("%s %s is not stored yet: left to the sweep", kind.name, row.pk)
            return
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _MAX_WAIT_S)


def _is_written(note: Note) -> bool:
    try:
        note.write()
    except (OSError, TypeError, ValueError):
        logger.exception("%s %s is kept in memory until it is stored", note.kind, note.row_id)
        return False
    return True


def settle(kind: JobKind[RowT], note: Note) -> bool:
    """Store what a note says and remove it; False when the database is away, to be tried again.

    What nobody waits for any more is dropped: a job that was given up for lost and begun anew has
    its result from the second time. What the database does not take ends the job as our bug.
    """
    try:
        if store(kind, note.row_id, note.claim, note.ending):
            note.remove()
        else:
            _drop(kind, note)
    except AWAY as error:
        logger.warning("%s %s could not be stored: %s", note.kind, note.row_id, error)
        connection.close()
        return False
    except (Error, TypeError, ValueError) as refused:
        logger.exception("%s %s can not be stored as it is", note.kind, note.row_id)
        return _settle_as_bug(kind, note, refused)
    return True


def _settle_as_bug(kind: JobKind[RowT], note: Note, refused: Exception) -> bool:
    """Only what could be closed so is set aside: else it is the database that takes nothing."""
    failure = _bug(f"the result could not be stored: {refused}".replace("\0", ""))
    try:
        row = kind.rows.get(pk=note.row_id)
        store(kind, note.row_id, note.claim, kind.failed(row, failure))
    except Error as error:
        logger.warning("%s %s could not be closed: %s", note.kind, note.row_id, error)
        connection.close()
        return False
    note.set_aside()
    return True


def _drop(kind: JobKind[RowT], note: Note) -> None:
    """Of a row that is no longer its own; kept for a look where it is of another database."""
    claim = kind.rows.filter(pk=note.row_id).values_list("claimed_by", flat=True).first()
    if claim in ("", note.claim):
        logger.warning("%s %s was closed by somebody else", note.kind, note.row_id)
        note.remove()
    else:
        logger.error("%s: there is no such job in this database", note.path)
        note.set_aside()
