"""The kind of job that drives another host's server: the load host's part of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet

from benchmarks.drivers.protocol import Driver, LocalDriver
from benchmarks.drivers.select import find_driver
from benchmarks.errors import RunFailed
from benchmarks.jobs.kinds import Ending, Failure, Job, JobKind, Values
from benchmarks.jobs.leftovers import LOAD_PREFIX
from benchmarks.jobs.row_line import SELDOM_S, RowLine
from benchmarks.measurement.drive import called_off
from benchmarks.measurement.fingerprint import load_host_facts
from benchmarks.models import CrashTest, LoadJob, Run
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.remote_load.load_side import drive_for
from benchmarks.remote_load.messages import Hello, Order, Result
from benchmarks.remote_load.sealed import Seal
from benchmarks.remote_load.several import SeveralProcesses
from benchmarks.servers.reach import own_address_towards
from benchmarks.storage.reserve import ReserveWatch

#: The measured host loads its dataset meanwhile, if there is none. A load host that nobody waits
#: for any more is told so, whatever this is.
_ORDER_PATIENCE_S = 100_000.0
_POLL_S = 0.1

Drive = Callable[..., Result]


def is_measured() -> Q:
    """Whether what is to be driven is still being measured."""
    runs = Run.objects.filter(pk=OuterRef("run"), state="running")
    tests = CrashTest.objects.filter(pk=OuterRef("crash_test"), state="running")
    return Q(Exists(runs)) | Q(Exists(tests))


@dataclass(frozen=True)
class LoadKind(JobKind[LoadJob]):
    """Loads. They take the home's lock alone: the machine of a load host is not measured."""

    name = "load"
    task = "benchmarks.load"
    measures_this_machine: ClassVar[bool] = False
    # Nobody waits for other loads any more.
    waiting: ClassVar[Q] = JobKind.waiting & is_measured()
    drive: Drive = drive_for
    find: Callable[[str], LocalDriver] = find_driver

    @property
    def rows(self) -> QuerySet[LoadJob]:
        return LoadJob.objects.select_related("run__workload", "crash_test__workload")

    def work(self, job: Job[LoadJob]) -> Ending:
        row, seal = job.row, Seal()
        local = self.find(row.measured.workload.driver)
        several = settings.LOAD_PROCESSES > 1
        driver = SeveralProcesses(local, settings.LOAD_PROCESSES) if several else local
        hello = _hello(row, driver, seal)
        folder = settings.RUN_DIR / f"{LOAD_PREFIX}{row.pk}"
        with (
            RowLine(_exchange(row)) as line,
            ReserveWatch([settings.RUN_DIR], job.should_stop) as disk,
        ):
            line.write(hello=hello.model_dump(), step="waiting for the server")
            order = _wait_for_order(line, seal, disk.should_stop)
            line.write(sealed_order="", step="connecting the driver")
            line.period_s = SELDOM_S
            try:
                result = self.drive(
                    order,
                    driver,
                    folder,
                    tell=lambda phases: line.write(
                        phases=phases.model_dump(),
                        step="connecting the driver" if phases.warming is None else "driving",
                    ),
                    should_stop=lambda: disk.should_stop() or not _is_wanted(line),
                )
            except RunFailed as failure:
                if (ended := called_off(failure)) is not None and disk.should_stop():
                    raise ended from failure
                raise
            finally:
                delete(folder)
        return Ending({"state": "ok", "step": "", "result": result.model_dump(mode="json")})

    def cancelled(self, row: LoadJob) -> Ending:
        return self.given_back(row, "the measured host no longer waits for it")

    def failed(self, row: LoadJob, failure: Failure) -> Ending:
        why = {"reason_code": failure.outcome.value, "reason": failure.reason}
        return Ending({"state": "failed", "step": "", "log_tail": failure.log_tail, **why})


def _hello(row: LoadJob, driver: Driver, seal: Seal) -> Hello:
    return Hello(
        address=settings.LOAD_CLIENT_ADDRESS or own_address_towards(row.address),
        key=seal.public,
        driver=driver.name,
        driver_version=driver.version,
        encrypts=driver.encrypts,
        facts=load_host_facts(),
    )


def _exchange(row: LoadJob) -> Callable[[Values], Values | None]:
    mine = LoadJob.objects.filter(pk=row.pk, claimed_by=row.claimed_by, state="running")
    wanted = ExpressionWrapper(is_measured(), output_field=BooleanField())

    def exchange(values: Values) -> dict[str, Any] | None:
        if values:
            mine.update(**values)
        found = mine.annotate(wanted=wanted).values("sealed_order", "wanted").first()
        return None if found is None else dict(found)

    return exchange


def _is_wanted(line: RowLine) -> bool:
    """Whether the measured host still waits for the result, as far as the database has said."""
    return line.latest is not None and bool(line.latest["wanted"])


def _wait_for_order(line: RowLine, seal: Seal, should_stop: Callable[[], bool]) -> Order:
    deadline = time.monotonic() + _ORDER_PATIENCE_S
    read_once = False
    while True:
        found = line.latest
        read_once = read_once or found is not None
        if found is not None and found["sealed_order"]:
            return Order.model_validate_json(seal.open(found["sealed_order"]))
        if should_stop() or (read_once and not _is_wanted(line)):
            raise RunFailed(Outcome.CANCELLED, "the measured host needs no load any more")
        if time.monotonic() > deadline:
            raise RunFailed(Outcome.TIMED_OUT, "the measured host started no server")
        time.sleep(_POLL_S)
