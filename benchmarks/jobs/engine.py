"""Does one job of any kind: claim its row, work, close the row. The row is the only truth."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import Any, Literal

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

from benchmarks.errors import NO_SPACE_ERRNOS, BenchmarkError, DeviceFull, RunFailed
from benchmarks.jobs.claimant import claimant, home_lock, measuring_alone
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
from benchmarks.processes.orphans import none_left_behind

logger = logging.getLogger(__name__)

#: The database is unavailable, busy or read-only (PostgreSQL: InternalError), which is no fault of
#: the statement.
AWAY = (OperationalError, InterfaceError, InternalError)
#: Seconds for which the process that did a job tries to store its ending before it leaves the
#: file to the sweep; the waits between tries double up to the longest.
STORE_PATIENCE_S = 20.0
_FIRST_WAIT_S = 0.25
_MAX_WAIT_S = 8.0


def execute(kind: JobKind[RowT], row_id: int) -> bool:
    """Do that job unless another process does; False if there was nothing to do, or not now.

    Duplicate and late messages end here: only the process that claims the row continues, and
    never while another one measures on this host.
    """
    with measuring_alone() if kind.measures_this_machine else home_lock() as held:
        row = _claim(kind, row_id) if held else None
        if row is None:
            return False
        _do(kind, row)
    return True


def store(
    kind: JobKind[RowT], row_id: int, claim: str, ending: Ending, *, only: Q | None = None
) -> bool:
    """Write the ending of a job; False if the row no longer has that claim. Raises Error.

    A job that a user cancelled before it was stored is cancelled, whatever its result. `only`: a
    further condition on the row.
    """
    with transaction.atomic():
        kind.changes(row_id)
        request = _request(kind, row_id, claim, "ours")
        if request is None or not (only is None or kind.rows.filter(only, pk=row_id).exists()):
            return False
        if request == CANCELLED:
            ending = kind.cancelled(kind.rows.get(pk=row_id))
        # The worker's own request ends with the job; the user's stays.
        values: Values = {"stop_request": "" if request == WORKER_STOPPING else request}
        if ending.is_final:
            values["finished_at"] = Now()
        kind.rows.filter(pk=row_id).update(**{**kind.passing, **values, **ending.values})
        kind.store_details(row_id, ending.details)
        kind.changed(row_id)
    return True


def _claim(kind: JobKind[RowT], row_id: int) -> RowT | None:
    waiting = kind.rows.filter(kind.waiting, pk=row_id)
    # Not part of the UPDATE: with other tables in it, two processes could claim the row.
    if not waiting.filter(_host_takes(kind)).exists():
        return None
    claim: Values = {**kind.claimed(), "claimed_by": claimant(), "heartbeat_at": Now()}
    try:
        # If the row could not be read, the claim would be held by a process that does not work.
        with transaction.atomic():
            kind.changes(row_id)
            if not waiting.update(**claim):
                return None
            kind.changed(row_id)
            return kind.rows.get(pk=row_id)
    except IntegrityError:
        # The row of a dead process still says `running`; the sweep will correct that.
        return None


def _request(
    kind: JobKind[RowT], row_id: int, claim: str, when: Literal["running", "ours"]
) -> str | None:
    """Return why a job should stop, "" for no reason; None if another process claimed the row.

    The row is locked until the end of the transaction.
    """
    rows = kind.rows.filter(getattr(kind, when), pk=row_id, claimed_by=claim)
    return rows.select_for_update().values_list("stop_request", flat=True).first()


def _host_takes(kind: JobKind[RowT]) -> Q:
    """The condition for rows whose host takes them: it is in use, and its worker takes work.

    A message may have been sent before it was drained.
    """
    takes: Values = {"idle_reason": "", "retired_at": None}
    if kind.waits_while_drained:
        takes["drained_at"] = None
    return Q(**{f"{kind.host}__{name}": value for name, value in takes.items()})


def _do(kind: JobKind[RowT], row: RowT) -> None:
    began = time.monotonic()
    latest: Values = {}

    def beat() -> str:
        with transaction.atomic():
            # First the row's lock, which may take time; then the time by the database's clock.
            request = _request(kind, row.pk, row.claimed_by, "running")
            if request is not None:
                kind.rows.filter(pk=row.pk).update(heartbeat_at=Now(), **latest)
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
            with none_left_behind():
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
    """The ending for an exception; None if the job was taken away from us."""
    match trouble:
        case RunFailed() if stop_request == TAKEN_AWAY:
            logger.warning("%s %s was marked as lost meanwhile", kind.name, row.pk)
            return None
        case RunFailed() if stop_request == WORKER_DIED:
            return kind.lost(row, "the worker died")
        case RunFailed() if stop_request:
            return kind.given_back(row, "the worker was stopped")
        case RunFailed():
            failure = Failure(trouble.outcome, trouble.code, str(trouble), trouble.log_tail)
        case BenchmarkError():
            is_full = isinstance(trouble, DeviceFull)
            failure = Failure(
                Outcome.DISK_FULL if is_full else Outcome.SETUP_FAILED,
                trouble.code,
                str(trouble),
                trouble.log_tail,
                trouble.field,
            )
        case Error() if isinstance(trouble, AWAY):
            return kind.lost(row, f"the advisor's database was unavailable: {trouble}")
        case OSError():
            is_full = trouble.errno in NO_SPACE_ERRNOS
            outcome = Outcome.DISK_FULL if is_full else Outcome.SETUP_FAILED
            failure = Failure(outcome, outcome.value, str(trouble))
        case _:
            logger.error("%s %s: internal error", kind.name, row.pk, exc_info=trouble)
            failure = _bug(f"{type(trouble).__name__}: {trouble}")
    return kind.failed(row, failure)


def _bug(text: str) -> Failure:
    return Failure(Outcome.INTERNAL_ERROR, Outcome.INTERNAL_ERROR.value, text)


def _note(kind: JobKind[RowT], row: RowT, began: float, ending: Ending) -> Note:
    values: Values = _without_nul(ending.values)
    if ending.is_final and row.heartbeat_at is not None:
        # By the database's clock, like all times of the row, even if our clock was set.
        values["finished_at"] = row.heartbeat_at + timedelta(seconds=time.monotonic() - began)
    return Note(kind.name, row.pk, row.claimed_by, replace(ending, values=values))


def _without_nul(value: Any) -> Any:
    """Remove NUL, which PostgreSQL refuses in text and JSON; a truncated log may contain it."""
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_without_nul(held) for held in value]
    return value.replace("\0", "") if isinstance(value, str) else value


def _close(kind: JobKind[RowT], row: RowT, began: float, ending: Ending) -> None:
    """Store the ending, and keep it on disk until it is stored.

    What was kept before is replaced: the ending now has the seconds of the last steps.
    """
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
    """Store a note and remove it; False if the database is unavailable, to be tried again.

    A note that is no longer needed is dropped: a job that was lost and started again gets its
    result from the second time. If the database refuses the values, the job ends as a bug of ours.
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
        logger.exception("%s %s cannot be stored as it is", note.kind, note.row_id)
        return _settle_as_bug(kind, note, refused)
    return True


def _settle_as_bug(kind: JobKind[RowT], note: Note, refused: Exception) -> bool:
    """Close the job as a bug and set the note aside, unless the database accepts nothing."""
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
    """Drop a note that no longer holds its row; keep one of another database to be looked at."""
    claim = kind.rows.filter(pk=note.row_id).values_list("claimed_by", flat=True).first()
    if claim in ("", note.claim):
        logger.warning("%s %s was closed by another process", note.kind, note.row_id)
        note.remove()
    else:
        logger.error("%s: there is no such job in this database", note.path)
        note.set_aside()
