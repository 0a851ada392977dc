"""Studies that another host drives: asked for, scheduled, driven through the rows, given up."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.core import serializers
from django.db import OperationalError, connection, connections
from django.db.backends.signals import connection_created
from django.utils import timezone

from benchmarks.drivers.checks import GRACE_S
from benchmarks.drivers.protocol import DriverResult, Phase, Target
from benchmarks.inventory.host import FoundDriver
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs import engine, loads
from benchmarks.jobs import load_host as load_host_module
from benchmarks.jobs.engine import execute
from benchmarks.jobs.load_host import RemoteLoad
from benchmarks.jobs.loads import LoadKind
from benchmarks.measurement.plan import Plan
from benchmarks.models import CrashTest, Host, JobState, LoadJob, Run, RunState, Workload
from benchmarks.outcomes import Outcome
from benchmarks.remote_load import load_side
from benchmarks.storage.reserve import VARIABLE
from benchmarks.telemetry.disturbance import Kind
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.made_up_host import made_up_host, with_inventory
from benchmarks.tests.test_remote_load import FakeLink
from tuning.errors import BadRequest, TuningError
from tuning.hosts.commands import drain_host, retire_host
from tuning.models import CrashSlot, Study, StudyState
from tuning.results.conditions import NAMES
from tuning.studies.commands import cancel_study, extend_study, resume_study
from tuning.studies.current_jobs import current_jobs
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import EXECUTE, LOAD, advance_host
from tuning.tests.fakes import measurement
from tuning.tests.test_pausing import Sent, asked, under_way
from tuning.tests.work import execute_run, prepare_study

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "correct-horse"


@pytest.fixture(autouse=True)
def patient_threads() -> Iterator[None]:
    """Threads share the tests' database in memory, where SQLite does not wait for a lock."""

    def execute_patiently(execute: Any, *arguments: Any) -> Any:
        deadline = time.monotonic() + 30
        while True:
            try:
                return execute(*arguments)
            except OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)

    def on_new(connection: Any, **_: Any) -> None:
        connection.execute_wrappers.append(execute_patiently)

    connection_created.connect(on_new)
    with connection.execute_wrapper(execute_patiently):
        yield
    connection_created.disconnect(on_new)


def seen_now(host: Host) -> None:
    Host.objects.filter(pk=host.pk).update(worker_seen_at=timezone.now())


def silent(host: Host) -> None:
    then = timezone.now() - timedelta(hours=1)
    Host.objects.filter(pk=host.pk).update(worker_seen_at=then)


@pytest.fixture
def load_host(host_of_fakes: None, settings: Any) -> Host:
    settings.LOAD_ADDRESS = "127.0.0.1"
    here = Host.objects.get()
    Host.objects.filter(pk=here.pk).update(
        inventory={**here.inventory, "load_address": "127.0.0.1"},
        worker_seen_at=timezone.now(),
    )
    inventory = made_up_host(name="driver-1", driver=FakeDriver.name).as_json()
    return Host.objects.create(name="driver-1", inventory=inventory, worker_seen_at=timezone.now())


@pytest.fixture
def study(load_host: Host, sent: Sent) -> Study:
    """Prepared, with its first run queued."""
    study = asked(load_host="driver-1")
    prepare_study(study.pk)
    advance_host(study.host_id)
    study.refresh_from_db()
    sent.clear()
    return study


def first_run(study: Study) -> Run:
    run: Run = study.slots.order_by("order")[0].run
    return run


def test_a_load_host_is_one_that_is_known_and_another(load_host: Host, sent: Sent) -> None:
    for name, why in (
        ("nobody", "no worker of a host called 'nobody'"),
        (Host.objects.exclude(pk=load_host.pk).get().name, "is the measured host itself"),
    ):
        with pytest.raises(BadRequest, match=why) as refused:
            asked(load_host=name)
        assert refused.value.field == "load_host"
    here = Host.objects.exclude(pk=load_host.pk).get()
    Host.objects.filter(pk=here.pk).update(inventory={**here.inventory, "load_address": ""})
    with pytest.raises(BadRequest, match="ADVISOR_LOAD_ADDRESS"):
        asked(load_host="driver-1")


def test_the_load_host_is_part_of_the_workload(load_host: Host, sent: Sent) -> None:
    here, there = asked(), asked(load_host="driver-1")
    assert here.workloads.get() != there.workloads.get()
    assert asked(load_host="driver-1").workloads.get() == there.workloads.get()
    assert str(there.workloads.get()).endswith(", driven by driver-1")
    assert Workload.objects.count() == 2


def test_a_study_waits_for_its_load_host_and_says_so_while_others_go_on(
    study: Study, load_host: Host, sent: Sent
) -> None:
    later = asked()
    sent.clear()
    silent(load_host)
    advance_host(study.host_id)
    assert [pk for _, pk, _ in sent] == [later.pk]
    text = study_progress(study).text
    assert text.startswith("waiting: load host driver-1 is not heard of")
    cancel_study(later)
    sent.clear()
    seen_now(load_host)
    advance_host(study.host_id)
    assert sent == [(EXECUTE, first_run(study).pk, study.host.queue)]
    drain_host(load_host)
    sent.clear()
    advance_host(study.host_id)
    assert sent == []
    assert study_progress(study).text == "waiting: load host driver-1 is drained"
    cancel_study(study)
    study.refresh_from_db()
    assert study.state == StudyState.CANCELLED


def test_a_retired_load_host_ends_what_it_was_to_drive_and_takes_nothing_more(
    study: Study, sent: Sent
) -> None:
    """Nobody waits for it for ever, and the measured host goes on with its queue."""
    later, driver = asked(), Host.objects.get(name="driver-1")
    retire_host(driver, by="ann", reason="sold")
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.CANCELLED, "host_retired")
    assert "driver-1 was retired" in study.reason
    assert sent[-1][1] == later.pk
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED)
    with pytest.raises(TuningError, match="sold"):
        extend_study(Study.objects.get(pk=study.pk), 1)


def queued_load(run: Run, host: Host, **values: Any) -> LoadJob:
    return LoadJob.objects.create(run=run, host=host, address="127.0.0.1", **values)


def running_on(host: Host, like: Run) -> Run:
    return Run.objects.create(
        host=host,
        device=like.device,
        server=like.server,
        workload=like.workload,
        config=like.config,
        seed=1,
        state=RunState.RUNNING,
    )


def test_a_load_goes_before_the_load_hosts_own_work_and_after_its_current_job(
    study: Study, load_host: Host, sent: Sent
) -> None:
    run = under_way(study)
    load = queued_load(run, load_host)
    own = running_on(load_host, run)
    advance_host(load_host.pk)
    assert sent == []
    Run.objects.filter(pk=own.pk).update(state=RunState.OK)
    advance_host(load_host.pk)
    assert sent == [(LOAD, load.pk, load_host.queue)]
    sent.clear()
    # Nobody waits for it any more.
    Run.objects.filter(pk=run.pk).update(state=RunState.LOST)
    advance_host(load_host.pk)
    assert sent == []


def drive_by_the_driver(plan: Plan, **hooks: Any) -> Any:
    """What `measure` does of a run with a load host: the driver alone, and once more."""
    target = Target("127.0.0.1", 3306, "tpcc", SECRET, database="tpcc")
    reported: list[Phase] = []
    for _ in range(2):  # as a crash test does
        result: DriverResult = plan.driver.run(
            target,
            plan.load,
            Path("unused"),
            on_phase=reported.append,
            should_stop=hooks["should_stop"],
        )
    assert reported == [*Phase, *Phase]
    assert plan.reach is not None
    assert (plan.reach.address, plan.reach.client) == ("127.0.0.1", "127.0.0.1")
    assert plan.load_facts["load_host"] == f"host {Host.objects.get(name='driver-1').pk}"
    return replace(measurement(), load_side=result.load_side)


@pytest.fixture
def through_rows(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Callable[[Run, FakeDriver], LoadJob]:
    """Does a run while a load host in a thread drives it; returns the load."""
    settings.HEARTBEAT_SECONDS = 0.05
    monkeypatch.setattr(load_side, "Link", FakeLink)
    # One home stands for two, and the other holds its lock.
    monkeypatch.setattr(engine, "home_lock", lambda: nullcontext(True))

    def work(load_id: int) -> None:
        with closing(connections["default"]):
            execute(LoadKind(), load_id)

    def do(run: Run, driver: FakeDriver) -> LoadJob:
        threads: list[threading.Thread] = []

        def send(task: str, args: list[int], queue: str) -> None:
            assert (task, queue) == (LOAD, "bench.driver-1")
            threads.append(threading.Thread(target=work, args=args))
            threads[-1].start()

        monkeypatch.setattr(loads, "find_driver", lambda _: driver)
        with monkeypatch.context() as patched:
            patched.setattr(current_app, "send_task", send)
            try:
                assert execute_run(run.pk, measure=drive_by_the_driver)
            finally:
                for thread in threads:
                    thread.join()
        run.refresh_from_db()
        return LoadJob.objects.filter(run=run).latest("pk")

    return do


def test_a_run_is_driven_through_the_rows_and_no_row_has_the_password(
    study: Study, through_rows: Callable[[Run, FakeDriver], LoadJob]
) -> None:
    run = first_run(study)
    driver = FakeDriver()
    through_rows(run, driver)
    assert (run.state, run.reason) == (RunState.OK, "")
    side = run.load_side
    assert side is not None
    assert (side["host"], side["round_trip_ms"]) == ("driver-1", 1.0)
    assert [one.connections for one in driver.loads] == [run.workload.connections] * 2
    loads = LoadJob.objects.filter(run=run)  # one for each time that it drove
    assert [(one.state, one.sealed_order, one.result) for one in loads] == [
        (JobState.OK, "", None)
    ] * 2
    assert SECRET not in serializers.serialize("json", [*loads, run])


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.DRIVER_FAILED, RunState.DRIVER_FAILED),
        (Outcome.LOST, RunState.LOST),
        (Outcome.OUT_OF_MEMORY, RunState.LOST),  # the load host's memory is not the config's
    ],
)
def test_a_failure_of_the_load_host_is_the_runs(
    outcome: Outcome,
    state: RunState,
    study: Study,
    through_rows: Callable[[Run, FakeDriver], LoadJob],
) -> None:
    run = first_run(study)
    load = through_rows(run, FakeDriver(fail=outcome))
    assert run.state == state
    assert run.reason.startswith("load host driver-1: ")
    assert run.log_tail == "the fake driver's output"
    assert (load.state, load.reason_code) == (JobState.FAILED, outcome.value)


def test_a_load_host_whose_result_does_not_come_loses_the_run_and_ends_its_driver(
    study: Study,
    through_rows: Callable[[Run, FakeDriver], LoadJob],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when the database stays away. A driver that does not end says so itself, and sooner."""
    run = first_run(study)
    length_s = run.workload.warmup_s + run.workload.measure_s
    monkeypatch.setattr(load_host_module, "_SPARE_S", -GRACE_S - length_s)
    load = through_rows(run, FakeDriver(second_s=60))
    assert (run.state, load.state) == (RunState.LOST, JobState.CANCELLED)
    assert run.reason == "No end of the load host driver-1, which had to be stopped."


class Filling(FakeDriver):
    """The disk of its host is full when its warm-up ends."""

    def _fail_with(self, *outcomes: Outcome) -> None:
        os.environ[VARIABLE] = "1000T"
        super()._fail_with(*outcomes)


@pytest.mark.long
@pytest.mark.parametrize("fail", [None, Outcome.DRIVER_FAILED])
def test_a_load_host_whose_disk_is_full_pauses_its_study_and_blames_no_config(
    fail: Outcome | None,
    study: Study,
    through_rows: Callable[[Run, FakeDriver], LoadJob],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "0")  # as it is again afterwards
    for _ in range(3):  # the second and third time before its driver has begun
        run = first_run(study)
        through_rows(run, Filling(fail=fail))
        assert run.state == RunState.DISK_FULL
        assert run.reason.startswith("load host driver-1: /")
        advance_host(study.host_id)
        study.refresh_from_db()
        assert (study.is_paused, study.pause_reason) == (True, run.reason)
        resume_study(study)
    for is_again in (True, False):  # of its own host's disk it is the first time only now
        run = first_run(study)
        assert run.state == RunState.QUEUED
        Run.objects.filter(pk=run.pk).update(state=RunState.DISK_FULL)
        advance_host(study.host_id)
        assert run.retries.exists() is is_again
        study.refresh_from_db()
        assert study.is_paused is is_again
        if is_again:
            resume_study(study)


def test_a_crash_test_is_lost_that_finds_the_disk_of_its_load_host_full(
    study: Study, load_host: Host
) -> None:
    run = first_run(study)
    same = {name: getattr(run, name) for name in ("host", "device", "server", "workload")}
    test = CrashTest.objects.create(**same, config=run.config, seed=1, load_s=30)
    ended = {"state": JobState.FAILED, "reason_code": Outcome.DISK_FULL, "reason": "/: full"}
    load = LoadJob.objects.create(crash_test=test, host=load_host, address="127.0.0.1", **ended)
    remote = RemoteLoad(load)
    remote.read()
    failure = remote.failure()
    assert failure is not None
    assert (failure.outcome, str(failure)) == (Outcome.LOST, "load host driver-1: /: full")
    CrashSlot.objects.create(
        **{name: getattr(run.slot, name) for name in ("study", "candidate", "device", "workload")},
        test=test,
    )
    LoadJob.objects.filter(pk=load.pk).update(state=JobState.RUNNING)
    job = current_jobs()[load_host.pk]
    assert (job.study, job.study_name, job.what) == (study.pk, study.name, f"drives {study.host}")


BARE = FoundDriver(name="tpcc-mysql", version="1", encrypts=False)
SYSBENCH = FoundDriver(name="sysbench", version="1.0.20")


@pytest.mark.parametrize(
    ("asked_for", "there", "field", "said"),
    [
        ("auto", (BARE, SYSBENCH), None, "sysbench"),
        ("tpcc-mysql", (BARE,), "driver", "tpcc-mysql on load host driver-1 cannot use TLS"),
        ("auto", (BARE,), "load_host", "or set ADVISOR_LOAD_TLS=false for the worker"),
        ("auto", (), "load_host", "driver-1 has no driver"),
    ],
)
def test_what_a_load_host_cannot_drive_with_is_said_before_anything_is_measured(
    asked_for: str,
    there: tuple[FoundDriver, ...],
    field: str | None,
    said: str,
    load_host: Host,
    sent: Sent,
) -> None:
    measured = Host.objects.order_by("pk")[0]
    known = inventory_of(measured)
    with_inventory(measured, known.model_copy(update={"load_needs_tls": True}))
    with_inventory(load_host, inventory_of(load_host).model_copy(update={"drivers": there}))
    if field is None:
        found = asked(load_host="driver-1", driver=asked_for)
        assert found.workloads.get().driver == said
        return
    with pytest.raises(BadRequest, match=said) as refused:
        asked(load_host="driver-1", driver=asked_for)
    assert refused.value.field == field
    with_inventory(measured, known)
    if BARE in there:
        found = asked(load_host="driver-1", driver=asked_for)
        assert found.workloads.get().driver == BARE.name


def test_a_load_host_that_falls_silent_loses_the_run_and_is_told_to_end(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = first_run(study)

    def taken_by_one_who_dies(*_: Any, **__: Any) -> None:
        then = timezone.now() - timedelta(hours=1)
        LoadJob.objects.update(state=JobState.RUNNING, claimed_by="x", heartbeat_at=then)

    monkeypatch.setattr(current_app, "send_task", taken_by_one_who_dies)
    assert execute_run(run.pk, measure=drive_by_the_driver)
    run.refresh_from_db()
    assert (run.state, run.reason) == (
        RunState.LOST,
        "load host driver-1 is no longer heard of",
    )
    assert LoadJob.objects.get().stop_request == "cancelled"


def test_a_run_whose_load_host_does_not_come_is_queued_again(
    study: Study, load_host: Host, sent: Sent
) -> None:
    run = first_run(study)
    silent(load_host)
    assert execute_run(run.pk, measure=drive_by_the_driver)
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "load host driver-1 is not heard of")
    assert LoadJob.objects.get().state == JobState.CANCELLED
    seen_now(load_host)
    sent.clear()
    advance_host(study.host_id)
    assert Run.objects.get(retry_of=run).state == RunState.QUEUED
    assert [task for task, _, _ in sent] == [EXECUTE]


def test_of_hosts_that_wait_for_each_other_in_a_circle_the_oldest_load_goes_on(
    study: Study, load_host: Host
) -> None:
    third = Host.objects.create(name="third", worker_seen_at=timezone.now())
    run = under_way(study)
    there, far = running_on(load_host, run), running_on(third, run)
    ways = ((run, load_host), (there, third), (far, study.host))
    waiting = [RemoteLoad(queued_load(one, host)) for one, host in ways]

    assert [one.gives_way() for one in waiting] == [False, True, True]
    Run.objects.filter(pk=run.pk).update(state=RunState.LOST)  # nobody waits for its load
    assert [one.gives_way() for one in waiting[1:]] == [False, True]


def test_a_host_that_no_load_host_can_reach_says_what_is_missing(
    study: Study, settings: Any
) -> None:
    settings.LOAD_ADDRESS = ""
    run = first_run(study)
    assert execute_run(run.pk, measure=drive_by_the_driver)
    run.refresh_from_db()
    assert run.state == RunState.SETUP_FAILED
    assert "ADVISOR_LOAD_ADDRESS" in run.reason
    assert json.dumps(run.fingerprint) == "{}"


def test_every_kind_of_disturbance_has_a_name_for_people() -> None:
    assert set(NAMES) == {kind.value for kind in Kind}
