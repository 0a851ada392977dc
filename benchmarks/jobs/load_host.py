"""The measured host's part of a run that a load host drives: a driver like any other.

A load job is asked for, watched and closed. The load host says by its own clock when its warm-up
began. Both ends of the measured interval follow from that, and the offset of the two clocks says
when they are here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, ExpressionWrapper

from benchmarks.drivers.checks import GRACE_S
from benchmarks.drivers.protocol import DriverResult, Load, LoadSide, Phase, Target
from benchmarks.drivers.tpcc_mysql import NOT_ENCRYPTED
from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.jobs.heartbeat import Repeated, cancel_jobs, quiet
from benchmarks.jobs.kinds import wake
from benchmarks.jobs.loads import LoadKind, is_measured
from benchmarks.jobs.presence import serving_hosts
from benchmarks.jobs.unstored import Values
from benchmarks.models import CrashTest, Host, JobState, LoadJob, Run
from benchmarks.outcomes import Outcome
from benchmarks.remote_load.link import time_of_day_less_monotonic
from benchmarks.remote_load.messages import Hello, Order, Phases, Result, seal
from benchmarks.servers.reach import NotReachable, Reach, check_own_address

#: How long the load host may take beyond its driver's own patience, to connect and to answer.
_SPARE_S = 60.0
#: Seconds between two looks at the row of a load.
_LOOK_S = 0.5
_POLL_S = 0.1
_COLUMNS = ("state", "hello", "phases", "result", "reason_code", "reason", "log_tail")


class LoadHostFailed(BenchmarkError, code="load_host_failed"):
    """The load host cannot drive this server; the message says why."""


@contextmanager
def take_load_host(
    row: Run | CrashTest, host: Host, *, should_stop: Callable[[], bool]
) -> Iterator[RemoteLoad]:
    """Take the load host for the length of the block; waits while it is busy.

    Raises NotReachable if this host was given no address for it, LoadHostFailed, RunFailed: LOST
    when it is not heard of, CANCELLED when `should_stop`, when it takes nothing new, or when an
    older load waits until our host drives it.
    """
    if not settings.LOAD_ADDRESS:
        raise NotReachable(
            "no load host can reach this host: name one of its addresses in ADVISOR_LOAD_ADDRESS"
        )
    check_own_address(settings.LOAD_ADDRESS)
    of = {"run": row} if isinstance(row, Run) else {"crash_test": row}
    job = LoadJob.objects.create(host=host, address=settings.LOAD_ADDRESS, **of)
    load = RemoteLoad(job)
    try:
        wake(LoadKind.task, job.pk, host)
        with Repeated(load.read, _LOOK_S):
            load.wait_for_hello(should_stop)
            yield load
    finally:
        load.rows.update(sealed_order="", result=None)  # what was read need not stay
        cancel_jobs(load.rows, "no longer needed")


class RemoteLoad:
    """A load that another host drives, and a `Driver` whose program runs there.

    `job` is its row, which a thread reads meanwhile.
    """

    def __init__(self, job: LoadJob) -> None:
        self.job = job
        self._row: Values | None = None
        self._has_run = False
        self.name = self.version = ""
        self.encrypts = False

    def run(
        self,
        target: Target,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
    ) -> DriverResult:
        """See `protocol.Driver`; nothing is written to `work_dir`.

        Each further run (of a crash test) takes the load host again, because a load takes only one
        order. Raises also what `take_load_host` raises.
        """
        if self._has_run:
            row, host = self.job.measured, self.job.host
            with take_load_host(row, host, should_stop=should_stop) as again:
                return again.run(
                    target, load, work_dir, on_phase=on_phase, should_stop=should_stop
                )
        self._has_run = True
        return self._drive(Order(target=target, load=load), on_phase, should_stop)

    @property
    def rows(self) -> Any:
        """The query for its row."""
        return LoadJob.objects.filter(pk=self.job.pk)

    def read(self) -> None:
        """Read the row."""
        silent = ExpressionWrapper(quiet(), output_field=BooleanField())
        self._row = self.rows.annotate(silent=silent).values(*_COLUMNS, "silent").first()

    @property
    def hello(self) -> Hello:
        """Return how the load host introduced itself, once `wait_for_hello` has returned."""
        return Hello.model_validate((self._row or {})["hello"])

    def wait_for_hello(self, should_stop: Callable[[], bool]) -> None:
        """Wait until the load host begins with it. Raises LoadHostFailed, RunFailed."""
        while self._row is None or not self._row["hello"]:
            failure = self.failure()
            if failure and failure.outcome is Outcome.SETUP_FAILED:
                raise LoadHostFailed(str(failure))
            if failure:
                raise failure
            if should_stop():
                raise RunFailed(Outcome.CANCELLED, "cancelled while waiting for the load host")
            if self._row is None or self._row["state"] == JobState.QUEUED:
                self._check_worth_waiting()
            time.sleep(_LOOK_S)
        self.name, self.version = self.hello.driver, self.hello.driver_version
        self.encrypts = self.hello.encrypts

    def reach(self) -> Reach:
        """Return how the load host reaches this host's server. Raises LoadHostFailed."""
        hello = self.hello
        if settings.LOAD_TLS and not hello.encrypts:
            raise LoadHostFailed(f"load host {self.job.host}: {NOT_ENCRYPTED}")
        return Reach(
            settings.LOAD_ADDRESS,
            hello.address,
            encrypted=settings.LOAD_TLS,
            port=settings.LOAD_PORT,
        )

    def facts(self) -> dict[str, str]:
        """Return what makes runs comparable that it drives, with its key: names change."""
        return self.hello.facts | {
            "load_host": f"host {self.job.host_id}",
            "load_encrypted": "yes" if settings.LOAD_TLS else "no",
        }

    def gives_way(self) -> bool:
        """Whether an older load waits for our host to drive it.

        So of hosts that wait for each other in a circle the one with the oldest load goes on.
        """
        older = LoadJob.objects.filter(pk__lt=self.job.pk, state=JobState.QUEUED)
        return older.filter(is_measured(), host=self.job.measured.host_id).exists()

    def _check_worth_waiting(self) -> None:
        """Raise RunFailed when the load host will not come, or when another load goes first."""
        if not serving_hosts().filter(pk=self.job.host_id).exists():
            is_drained = Host.objects.get(pk=self.job.host_id).is_drained
            why = "is drained" if is_drained else "is not heard of"
            raise RunFailed(Outcome.CANCELLED, f"load host {self.job.host} {why}")
        if self.gives_way():
            raise RunFailed(
                Outcome.CANCELLED, "another host waits for this one to drive; it goes first"
            )

    def failure(self) -> RunFailed | None:
        """Return why there will be no result; None as long as there may be one."""
        row = self._row
        if row is None or (row["state"] == JobState.OK and row["result"]):
            return None
        state, reason = row["state"], f"load host {self.job.host}: {row['reason']}"
        if state == JobState.RUNNING and row["silent"]:
            return RunFailed(Outcome.LOST, f"load host {self.job.host} is no longer heard of")
        if state == JobState.FAILED:
            outcome = Outcome(row["reason_code"])
            # Memory and disk are the load host's own, which no config has filled. A run that finds
            # the disk full pauses its study.
            is_full = outcome is Outcome.DISK_FULL and self.job.crash_test_id is not None
            if outcome is Outcome.OUT_OF_MEMORY or is_full:
                outcome = Outcome.LOST
            return RunFailed(outcome, reason, log_tail=row["log_tail"])
        if state == JobState.LOST:
            return RunFailed(Outcome.LOST, reason)
        if state in (JobState.CANCELLED, JobState.OK):
            # Its worker was stopped, as is done on purpose: the run is measured again.
            return RunFailed(Outcome.CANCELLED, reason)
        return None

    def _drive(
        self,
        order: Order,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
    ) -> DriverResult:
        """Send the order, announce each phase when it is due here, and return the result."""
        load, clock, host = order.load, time_of_day_less_monotonic(), self.job.host
        begun: dict[Phase, float] = {}

        def announce(phase: Phase) -> None:
            begun[phase] = time.monotonic()
            on_phase(phase)

        self.rows.update(sealed_order=seal(order.model_dump_json(), self.hello.key))
        deadline = time.monotonic() + load.warmup_s + load.measure_s + GRACE_S + _SPARE_S
        while (row := self._row or {}).get("result") is None:
            if failure := self.failure():
                raise failure
            pause_s = _POLL_S
            for phase, due in _due(row.get("phases"), load, clock).items():
                if phase not in begun and (left := due - time.monotonic()) > 0:
                    pause_s = min(pause_s, left)
                    break
                if phase not in begun:
                    announce(phase)
            if should_stop():
                raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")
            if time.monotonic() > deadline:
                # A driver that does not end is stopped there, sooner: not the config's doing.
                raise RunFailed(
                    Outcome.LOST, f"No end of the load host {host}, which had to be stopped."
                )
            time.sleep(pause_s)
        phases, result = Phases.model_validate(row["phases"]), Result.model_validate(row["result"])
        for phase in Phase:
            if phase not in begun:
                announce(phase)
        first, last = phases.clock, result.clock
        # Had nobody set a clock, both readings would be equal.
        set_here = time_of_day_less_monotonic() - clock
        measuring = _due(row["phases"], load, clock)[Phase.MEASURING]
        side = LoadSide(
            host=host.name,
            round_trip_ms=1000 * min(first.round_trip_s, last.round_trip_s),
            clock_error_ms=1000 * max(first.round_trip_s, last.round_trip_s) / 2,
            clock_drift_ms=1000 * (last.offset_s - first.offset_s - set_here),
            late_ms=1000 * (begun[Phase.MEASURING] - measuring),
            encrypted=bool(order.target.certificate),
            cpu=result.cpu,
        )
        return replace(result.driver_result(), load_side=side)


def _due(told: Values | None, load: Load, clock: float) -> dict[Phase, float]:
    """Return when each phase begins by our monotonic clock: as told or, before that, as planned.

    `told` is a message of `Phases`, `clock` our time of day less our monotonic clock. Empty until
    the warm-up began.
    """
    phases = Phases.model_validate(told) if told else None
    if phases is None or phases.warming is None:
        return {}
    lengths = {Phase.WARMING: 0, Phase.MEASURING: load.warmup_s, Phase.STOPPING: load.measure_s}
    due, at = {}, phases.warming
    for phase, length_s in lengths.items():
        begun = phases.at(phase)
        at = at + length_s if begun is None else begun
        due[phase] = at + phases.clock.offset_s - clock
    return due
