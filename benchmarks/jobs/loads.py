"""The kind of job that drives another host's server: the load host's part of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from django.conf import settings
from django.db import Error, connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from benchmarks.drivers.protocol import Driver
from benchmarks.drivers.select import find_driver
from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.jobs.heartbeat import Job
from benchmarks.jobs.kinds import JobKind, ended
from benchmarks.jobs.unstored import Values
from benchmarks.measurement.drive import called_off
from benchmarks.measurement.fingerprint import load_host_facts
from benchmarks.models import CrashTest, LoadJob, Run
from benchmarks.outcomes import Outcome
from benchmarks.ownership import delete
from benchmarks.remote_load.load_side import drive_for
from benchmarks.remote_load.messages import Hello, Order, Phases, new_key, public_half, unseal
from benchmarks.remote_load.several import SeveralProcesses
from benchmarks.servers.reach import own_address_towards
from benchmarks.storage.reserve import ReserveWatch

_LOOK_S = 0.3
#: Prefix of the folders in which a load host's driver works, in the home.
LOAD_PREFIX = "load-"


def is_measured() -> Q:
    """Return the condition of loads whose run or crash test is still being measured."""
    runs = Run.objects.filter(pk=OuterRef("run"), state="running")
    tests = CrashTest.objects.filter(pk=OuterRef("crash_test"), state="running")
    return Q(Exists(runs)) | Q(Exists(tests))


class LoadKind(JobKind[LoadJob]):
    """Loads. They take the home's lock alone: the machine of a load host is not measured."""

    name = "load"
    task = "benchmarks.load"
    measures_this_machine: ClassVar[bool] = False
    # Nobody waits for other loads any more.
    waiting: ClassVar[Q] = JobKind.waiting & is_measured()

    @property
    def rows(self) -> QuerySet[LoadJob]:
        return LoadJob.objects.select_related("run__workload", "crash_test__workload")

    def work(self, job: Job[LoadJob]) -> Values:
        row, key = job.row, new_key()
        local = find_driver(row.measured.workload.driver)
        count = settings.LOAD_PROCESSES
        driver = SeveralProcesses(local, count) if count > 1 else local
        hello = _hello(row, driver, public_half(key))
        job.report_now(hello=hello.model_dump(), step="waiting for the server")
        folder = settings.RUN_DIR / f"{LOAD_PREFIX}{row.pk}"
        told: Values = {}

        def tell(phases: Phases) -> None:
            step = "connecting the driver" if phases.warming is None else "driving"
            told["phases"] = phases.model_dump()
            job.report_now(step=step, **told)

        with ReserveWatch([settings.RUN_DIR], job.should_stop) as disk:
            sealed = _wait_for_order(row, disk.should_stop)
            order = Order.model_validate_json(unseal(sealed, key))
            job.report(sealed_order="")
            try:
                result = drive_for(order, driver, folder, tell=tell, should_stop=disk.should_stop)
            except RunFailed as failure:
                if (stopped := called_off(failure)) is not None and disk.should_stop():
                    raise stopped from failure
                raise
            finally:
                delete(folder)
        # The phases once more: the last heartbeat may not have had them all.
        return ended("ok", result=result.model_dump(mode="json"), **told)

    def cancelled(self, row: LoadJob) -> Values:
        return self.given_back(row, "the measured host no longer waits for it")

    def failed(self, row: LoadJob, error: BenchmarkError) -> Values:
        why = {"reason_code": error.outcome.value, "reason": str(error)}
        return ended("failed", log_tail=error.log_tail, **why)


def _hello(row: LoadJob, driver: Driver, key: str) -> Hello:
    return Hello(
        address=settings.LOAD_CLIENT_ADDRESS or own_address_towards(row.address),
        key=key,
        driver=driver.name,
        driver_version=driver.version,
        encrypts=driver.encrypts,
        facts=load_host_facts(),
    )


def _wait_for_order(row: LoadJob, should_stop: Callable[[], bool]) -> str:
    """Return the sealed order. The measured host may load its dataset first, which takes hours.

    Raises RunFailed: CANCELLED when it waits no longer.
    """
    orders = LoadJob.objects.filter(is_measured(), pk=row.pk)
    while True:
        try:
            sealed = orders.values_list("sealed_order", flat=True).first()
        except Error:  # the database will be back
            connection.close()
            sealed = ""
        if sealed:
            return sealed
        if sealed is None or should_stop():
            raise RunFailed(Outcome.CANCELLED, "the measured host needs no load any more")
        time.sleep(_LOOK_S)
