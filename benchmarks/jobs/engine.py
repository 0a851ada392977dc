"""Does one job of any kind: claim its row, work, close the row. The row is the only truth."""

from __future__ import annotations

import logging
import time

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
from benchmarks.jobs.heartbeat import (
    CANCELLED,
    TAKEN_AWAY,
    WORKER_DIED,
    WORKER_STOPPING,
    Job,
    RowT,
    is_final,
    stop_request,
)
from benchmarks.jobs.kinds import JobKind
from benchmarks.jobs.locks import home_lock, measuring_alone, this_process
from benchmarks.jobs.unstored import Unstored, Values
from benchmarks.outcomes import Outcome
from benchmarks.processes.orphans import none_left_behind

logger = logging.getLogger(__name__)

#: The database is unavailable, busy or read-only (PostgreSQL: InternalError), which is no fault of
#: the statement.
AWAY = (OperationalError, InterfaceError, InternalError)
#: Seconds between two tries to store an ending that is on no disk.
_RETRY_S = 1.0


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
    kind: JobKind[RowT], row_id: int, claim: str, ending: Values, *, only: Q | None = None
) -> bool:
    """Write the ending of a job; False if the row no longer has that claim. Raises Error.

    A job that a user cancelled before it was stored is cancelled, whatever its result. `only`: a
    further condition on the row.
    """
    with transaction.atomic():
        kind.changes(row_id)
        request = stop_request(kind.rows.filter(kind.ours, pk=row_id, claimed_by=claim))
        if request is None or not (only is None or kind.rows.filter(only, pk=row_id).exists()):
            return False
        if request == CANCELLED:
            ending = kind.cancelled(kind.rows.get(pk=row_id))
        # The worker's own request ends with the job; the user's stays.
        values: Values = {"stop_request": "" if request == WORKER_STOPPING else request}
        if is_final(ending):
            values["finished_at"] = Now()
        kind.write(row_id, values | ending)
        kind.changed(row_id)
    return True


def settle(kind: JobKind[RowT], result: Unstored) -> bool:
    """Store a result and remove its file; False if the database is away, to be tried again.

    A result that is no longer needed is set aside: a job that was lost and started again gets its
    result from the second time. If the database refuses the values, the job ends as a bug of ours.
    """
    try:
        if store(kind, result.row_id, result.claim, result.ending):
            result.remove()
        else:
            logger.warning("%s: its job was closed, or is not of this database", result.path)
            result.set_aside()
    except AWAY as error:
        logger.warning("%s %s could not be stored: %s", result.kind, result.row_id, error)
        connection.close()
        return False
    except (Error, TypeError, ValueError) as refused:
        logger.exception("%s %s cannot be stored as it is", result.kind, result.row_id)
        return _settle_as_bug(kind, result, refused)
    return True


def _settle_as_bug(kind: JobKind[RowT], result: Unstored, refused: Exception) -> bool:
    """Close the job as a bug and set its result aside, unless the database accepts nothing."""
    bug = _bug(f"the result could not be stored: {refused}".replace("\0", ""))
    try:
        row = kind.rows.get(pk=result.row_id)
        store(kind, result.row_id, result.claim, kind.failed(row, bug))
    except Error as error:
        logger.warning("%s %s could not be closed: %s", result.kind, result.row_id, error)
        connection.close()
        return False
    result.set_aside()
    return True


def _claim(kind: JobKind[RowT], row_id: int) -> RowT | None:
    waiting = kind.rows.filter(kind.waiting, pk=row_id)
    # Not part of the UPDATE: with other tables in it, two processes could claim the row.
    if not waiting.filter(_host_takes(kind)).exists():
        return None
    claim: Values = {**kind.claimed(), "claimed_by": this_process(), "heartbeat_at": Now()}
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


def _host_takes(kind: JobKind[RowT]) -> Q:
    """The condition for rows whose host is in use, and whose worker takes work.

    A message may have been sent before the host was drained.
    """
    takes: Values = {"idle_reason": "", "retired_at": None}
    if kind.waits_while_drained:
        takes["drained_at"] = None
    return Q(**{f"{kind.host}__{name}": value for name, value in takes.items()})


def _do(kind: JobKind[RowT], row: RowT) -> None:
    mine = kind.rows.filter(kind.running, pk=row.pk, claimed_by=row.claimed_by)
    with Job(kind.name, row, mine) as job:
        ended_us: BaseException | None = None
        try:
            with none_left_behind():
                ending: Values | None = kind.work(job)
        except BaseException as trouble:
            if job.kept is not None:
                logger.exception("%s %s: its result was kept before this", kind.name, row.pk)
            ending = job.kept or _ended_by(trouble, kind, row, job.stop_request)
            ended_us = None if isinstance(trouble, Exception) else trouble
        if ending is not None:
            _close(kind, job.result(ending))
        if ended_us is not None:
            raise ended_us


def _ended_by(
    trouble: BaseException, kind: JobKind[RowT], row: RowT, asked_to: str
) -> Values | None:
    """Return the ending for an exception; None if the job was taken away from us."""
    match trouble:
        case RunFailed() if asked_to == TAKEN_AWAY:
            logger.warning("%s %s was marked as lost meanwhile", kind.name, row.pk)
            return None
        case RunFailed() if asked_to == WORKER_DIED:
            return kind.lost(row, "the worker died")
        case RunFailed() if asked_to:
            return kind.given_back(row, "the worker was stopped")
        case BenchmarkError():
            error: BenchmarkError = trouble
        case Error() if isinstance(trouble, AWAY):
            return kind.lost(row, f"the advisor's database was unavailable: {trouble}")
        case OSError():
            is_full = trouble.errno in NO_SPACE_ERRNOS
            error = RunFailed(Outcome.DISK_FULL if is_full else Outcome.SETUP_FAILED, f"{trouble}")
        case Exception():
            logger.error("%s %s: internal error", kind.name, row.pk, exc_info=trouble)
            error = _bug(f"{type(trouble).__name__}: {trouble}")
        case _:  # SystemExit of a cold shutdown of the worker
            return kind.given_back(row, "the worker was terminated")
    return kind.failed(row, error)


def _bug(text: str) -> RunFailed:
    return RunFailed(Outcome.INTERNAL_ERROR, text)


def _close(kind: JobKind[RowT], result: Unstored) -> None:
    """Write the ending to disk and store it; the sweep stores what the database does not take now.

    What was kept before is replaced: the ending now has the seconds of the last steps. A disk that
    takes nothing either is no reason to lose it.
    """
    is_written = result.write()
    while not settle(kind, result) and not is_written:
        time.sleep(_RETRY_S)
