"""The measured host's way to its load host: a load job is asked for, watched and closed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, ExpressionWrapper, Q

from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.jobs.cancelling import cancel_jobs
from benchmarks.jobs.heartbeat import CANCELLED, quiet
from benchmarks.jobs.kinds import Values
from benchmarks.jobs.presence import serving_hosts
from benchmarks.jobs.row_line import SELDOM_S, SOON_S, RowLine
from benchmarks.models import ACTIVE_JOB_STATES, CrashTest, Host, JobState, LoadJob, Run
from benchmarks.outcomes import Outcome
from benchmarks.remote_load.driver import Report
from benchmarks.remote_load.messages import Hello, Order, Phases, Result
from benchmarks.remote_load.sealed import seal
from benchmarks.servers.reach import NotReachable, check_own_address

#: Seconds for which a load host may take to end its driver when it was asked to.
_STOP_PATIENCE_S = 5.0
_POLL_S = 0.2
_CHECK_EVERY_S = 1.0
_COLUMNS = (
    *("state", "hello", "phases", "result", "reason_code", "reason", "log_tail"),
    "crash_test",
)


class LoadHostFailed(BenchmarkError, code="load_host_failed"):
    """The load host cannot drive this server; the message says why."""


class LoadDesk:
    """A load host that has said hello; see `benchmarks.remote_load.driver.Desk`."""

    def __init__(self, host: str, hello: Hello, line: RowLine) -> None:
        self.host = host
        self.hello = hello
        self._line = line

    def send(self, order: Order) -> None:
        self._line.write(sealed_order=seal(order.model_dump_json(), self.hello.key))

    def report(self) -> Report:
        row = self._line.latest
        if row is None:
            return Report()
        phases = Phases.model_validate(row["phases"]) if row["phases"] else None
        is_measuring = phases is not None and phases.warming and not phases.stopping
        self._line.period_s = SELDOM_S if is_measuring else SOON_S
        if row["state"] == JobState.OK and row["result"]:
            return Report(phases, Result.model_validate(row["result"]))
        return Report(phases, failure=_failure(self.host, row))

    def call_off(self) -> None:
        self._line.write(stop_request=CANCELLED)

    def wait_until_ended(self) -> None:
        deadline = time.monotonic() + _STOP_PATIENCE_S
        while self._is_active() and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _is_active(self) -> bool:
        row = self._line.latest
        return row is not None and row["state"] in ACTIVE_JOB_STATES


@contextmanager
def load_desk(
    row: Run | CrashTest,
    load_host: Host,
    *,
    wake: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> Iterator[LoadDesk]:
    """Take the load host for the length of the block; waits while it is busy.

    `wake` is given its key when there is something to do for it.

    Raises NotReachable if this host was given no address for it, LoadHostFailed, RunFailed: LOST
    when it is not heard of, CANCELLED when `should_stop`, when it takes nothing new, or when an
    older job waits until our host drives it.
    """
    if not settings.LOAD_ADDRESS:
        raise NotReachable(
            "no load host can reach this host: name one of its addresses in ADVISOR_LOAD_ADDRESS"
        )
    check_own_address(settings.LOAD_ADDRESS)
    job = LoadJob.objects.create(
        run=row if isinstance(row, Run) else None,
        crash_test=row if isinstance(row, CrashTest) else None,
        host=load_host,
        address=settings.LOAD_ADDRESS,
    )
    try:
        wake(load_host.pk)
        with RowLine(_exchange(job.pk)) as line:
            hello = _wait_for_hello(row, load_host, line, should_stop)
            yield LoadDesk(load_host.name, hello, line)
    finally:
        _close(job.pk)


def _exchange(job_id: int) -> Callable[[Values], Values | None]:
    rows = LoadJob.objects.filter(pk=job_id)
    silent = ExpressionWrapper(quiet(), output_field=BooleanField())

    def exchange(values: Values) -> dict[str, Any] | None:
        if values:
            rows.filter(state__in=ACTIVE_JOB_STATES).update(**values)
        return rows.annotate(silent=silent).values(*_COLUMNS, "silent").first()

    return exchange


def _failure(host: str, row: dict[str, Any]) -> RunFailed | None:
    """Why there will be no result; None as long as there may be one."""
    state, reason = row["state"], row["reason"]
    if state == JobState.RUNNING and row["silent"]:
        return RunFailed(Outcome.LOST, f"load host {host} is no longer heard of")
    if state == JobState.FAILED:
        outcome = Outcome(row["reason_code"])
        # The load host's own, which no config has filled; a run's disk pauses its study.
        full = {Outcome.OUT_OF_MEMORY} | ({Outcome.DISK_FULL} if row["crash_test"] else set())
        outcome = Outcome.LOST if outcome in full else outcome
        return RunFailed(outcome, f"load host {host}: {reason}", log_tail=row["log_tail"])
    if state == JobState.LOST:
        return RunFailed(Outcome.LOST, f"load host {host}: {reason}")
    if state in (JobState.CANCELLED, JobState.OK):
        # Its worker was stopped, as is done on purpose: the run is measured again.
        return RunFailed(Outcome.CANCELLED, f"load host {host}: {reason or 'it was stopped'}")
    return None


def _wait_for_hello(
    row: Run | CrashTest,
    load_host: Host,
    line: RowLine,
    should_stop: Callable[[], bool],
) -> Hello:
    checked = float("-inf")
    while True:
        line.wait_for_news(_POLL_S)
        found = line.latest
        if found is not None:
            if failure := _failure(load_host.name, found):
                if failure.outcome is Outcome.SETUP_FAILED:
                    raise LoadHostFailed(str(failure))
                raise failure
            if found["hello"]:
                return Hello.model_validate(found["hello"])
        if should_stop():
            raise RunFailed(Outcome.CANCELLED, "cancelled while waiting for the load host")
        is_queued = found is None or found["state"] == JobState.QUEUED
        if is_queued and time.monotonic() - checked >= _CHECK_EVERY_S:
            checked = time.monotonic()
            _check_worth_waiting(row, load_host)


def _check_worth_waiting(row: Run | CrashTest, load_host: Host) -> None:
    """Raise RunFailed when the load host will not come."""
    if not serving_hosts().filter(pk=load_host.pk).exists():
        why = "is drained" if Host.objects.get(pk=load_host.pk).is_drained else "is not heard of"
        raise RunFailed(Outcome.CANCELLED, f"load host {load_host.name} {why}")
    if _gives_way(row):
        raise RunFailed(
            Outcome.CANCELLED,
            "another host waits for this one to drive; it goes first",
        )


def _gives_way(row: Run | CrashTest) -> bool:
    """Whether an older run or crash test waits until our host drives it; runs count as older.

    So hosts that wait for each other in a circle do not do so for ever: the oldest run never gives
    way, and the host that it waits for does.
    """
    waiting = LoadJob.objects.filter(host=row.host_id, state=JobState.QUEUED)
    runs = Q(run__state="running")
    tests = Q(crash_test__state="running", crash_test__lt=row.pk)
    older = runs & Q(run__lt=row.pk) if isinstance(row, Run) else runs | tests
    return waiting.filter(older).exists()


def _close(job_id: int) -> None:
    """Nobody waits for this load any more; what was read need not stay."""
    rows = LoadJob.objects.filter(pk=job_id)
    rows.update(sealed_order="", result=None)
    cancel_jobs(rows, "no longer needed")
