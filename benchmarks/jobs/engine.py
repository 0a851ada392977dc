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
from django.db.models import Q
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

    What a user cancelled before it was stored is cancelled, whatever came of it. `only`: what
    else must still be so of the row.
    """
    mine = kind.rows.filter(kind.ours if only is None else only, pk=row_id, claimed_by=claim)
    with transaction.atomic():
        request = mine.select_for_update().values_list("stop_request", flat=True).first()
        if request is None:
            return False
        if request == CANCELLED:
            ending = kind.cancelled(kind.rows.get(pk=row_id))
        # What the worker wished for itself ends with the job; what the user wished for stays.
        values: Values = {"stop_request": "" if request == WORKER_STOPPING else request}
        if ending.is_final:
            values["finished_at"] = Now()
        mine.update(**values | ending.values)
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

    kept: Ending | None = None

    def keep(ending: Ending) -> None:
        nonlocal kept
        kept = ending
        _is_written(_note(kind, row, began, ending))

    with Heartbeat(beat) as pulse:
        try:
            ending: Ending | None = kind.work(Job(row, report, pulse.should_stop, keep))
        except Exception as trouble:
            if kept is not None:
                logger.exception("%s %s: its result was kept before this", kind.name, row.pk)
            ending = kept or _ended_by(trouble, kind, row, pulse.stop_request)
        except BaseException:
            # SystemExit of a cold shutdown of the worker: the row must not stay `running`.
            ending = kept or kind.given_back(row, "the worker was terminated")
            _close(kind, row, began, ending)
            raise
        if ending is not None:
            _close(kind, row, began, ending)


def _ended_by(
    trouble: Exception, kind: JobKind[RowT], row: RowT, stop_request: str
) -> Ending | None:
    """How what came of it in place of a result ends it; None for what was taken away from us."""
    match trouble:
        case RunFailed() if stop_request:
            return _stopped(kind, row, stop_request)
        case RunFailed():
            failure = Failure(trouble.outcome, trouble.code, str(trouble), trouble.log_tail)
        case BenchmarkError():
            failure = Failure(Outcome.SETUP_FAILED, trouble.code, str(trouble), trouble.log_tail)
        case Error() if isinstance(trouble, AWAY):
            return kind.lost(row, f"the advisor's database was away: {trouble}")
        case OSError():
            is_full = trouble.errno in NO_SPACE_ERRNOS
            outcome = Outcome.DISK_FULL if is_full else Outcome.SETUP_FAILED
            failure = Failure(outcome, outcome.value, str(trouble))
        case _:
            logger.error("%s %s: internal error", kind.name, row.pk, exc_info=trouble)
            failure = _bug(f"{type(trouble).__name__}: {trouble}")
    return kind.failed(row, failure)


def _stopped(kind: JobKind[RowT], row: RowT, request: str) -> Ending | None:
    if request == TAKEN_AWAY:
        logger.warning("%s %s was given up for lost meanwhile", kind.name, row.pk)
        return None
    if request == WORKER_DIED:
        return kind.lost(row, "the worker died")
    return kind.given_back(row, "the worker was stopped")


def _bug(text: str) -> Failure:
    return Failure(Outcome.INTERNAL_ERROR, Outcome.INTERNAL_ERROR.value, text)


def _note(kind: JobKind[RowT], row: RowT, began: float, ending: Ending) -> Note:
    values: Values = _without_nul(ending.values)
    if ending.is_final and row.heartbeat_at is not None:
        # By the database's clock, as all times of the row are, and whatever was set meanwhile.
        values["finished_at"] = row.heartbeat_at + timedelta(seconds=time.monotonic() - began)
    return Note(kind.name, row.pk, row.claimed_by, replace(ending, values=values))


def _without_nul(value: Any) -> Any:
    """PostgreSQL has no text with NUL, nor in JSON; a log that was cut off may hold it."""
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_without_nul(held) for held in value]
    return value.replace("\0", "") if isinstance(value, str) else value


def _close(kind: JobKind[RowT], row: RowT, began: float, ending: Ending) -> None:
    """Store how it ended, and have it on disk until it is."""
    note = _note(kind, row, began, ending)
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
    failure = _bug(_without_nul(f"the result could not be stored: {refused}"))
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
