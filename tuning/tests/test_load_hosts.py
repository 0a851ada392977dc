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
from django.core import serializers
from django.db import OperationalError, connection, connections
from django.db.backends.signals import connection_created
from django.utils import timezone

from benchmarks.drivers.protocol import DriverResult, Target
from benchmarks.errors import RunFailed
from benchmarks.inventory.host import FoundDriver
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs import engine, load_desk
from benchmarks.jobs.engine import execute
from benchmarks.jobs.loads import LoadKind, step_of
from benchmarks.measurement.fingerprint import LOAD_ROUND_TRIP, load_distance
from benchmarks.measurement.plan import Plan
from benchmarks.models import CrashTest, Host, JobState, LoadJob, Run, RunState, Workload
from benchmarks.outcomes import Outcome
from benchmarks.remote_load import driver as driver_module
from benchmarks.remote_load import load_side
from benchmarks.remote_load.messages import Phases
from benchmarks.storage.reserve import VARIABLE
from benchmarks.telemetry.disturbance import Kind
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.made_up_host import made_up_host, with_inventory
from benchmarks.tests.test_remote_load import FakeLink
from tuning.creation.create import request_again
from tuning.errors import BadRequest, TuningError
from tuning.hosts.states import drain_host, retire_host
from tuning.models import CrashSlot, Study, StudyState
from tuning.results.quality import NAMES
from tuning.studies.commands import cancel_study, extend_study, resume_study
from tuning.studies.current_jobs import current_jobs
from tuning.studies.jobs import StudyRunKind
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import EXECUTE, LOAD, advance_host
from tuning.tests.fakes import measurement
from tuning.tests.test_pausing import Sent, asked, under_way
from tuning.tests.work import prepare_study

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
    study = asked(load_hosts=("driver-1",))
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
            asked(load_hosts=(name,))
        assert refused.value.field == "load_hosts"
    here = Host.objects.exclude(pk=load_host.pk).get()
    Host.objects.filter(pk=here.pk).update(inventory={**here.inventory, "load_address": ""})
    with pytest.raises(BadRequest, match="ADVISOR_LOAD_ADDRESS"):
        asked(load_hosts=("driver-1",))


def test_the_load_host_is_part_of_the_workload(load_host: Host, sent: Sent) -> None:
    here, there = asked(), asked(load_hosts=("driver-1",))
    assert here.workloads.get() != there.workloads.get()
    assert asked(load_hosts=("driver-1",)).workloads.get() == there.workloads.get()
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
    """What `measure` does of a run with a load host: the driver alone."""
    target = Target("127.0.0.1", 3306, "tpcc", SECRET, database="tpcc")
    result: DriverResult = plan.driver.run(
        target,
        plan.load,
        Path("unused"),
        on_phase=lambda phase: hooks["report"](phase.value),
        should_stop=hooks["should_stop"],
    )
    assert plan.reach is not None
    assert (plan.reach.address, set(plan.reach.clients)) == ("127.0.0.1", {"127.0.0.1"})
    driving = Host.objects.filter(name__in=[side.host for side in result.load_sides])
    assert plan.load_facts["load_host"] == ", ".join(
        f"host {pk}" for pk in driving.order_by("pk").values_list("pk", flat=True)
    )
    round_trips_ms = [side.round_trip_ms for side in result.load_sides]
    fingerprint = load_distance(round_trips_ms, plan.earlier_distances)
    return replace(measurement(), load_sides=result.load_sides, fingerprint=fingerprint)


class LoadHost:
    """The other hosts' workers, in a thread for each load."""

    def __init__(self, driver: FakeDriver) -> None:
        self._kind = LoadKind(find=lambda _: driver)
        self._threads: list[threading.Thread] = []

    def wake(self, host_id: int) -> None:
        load = LoadJob.objects.get(host_id=host_id, state=JobState.QUEUED)
        thread = threading.Thread(target=self._work, args=(load.pk,))
        thread.start()
        self._threads.append(thread)

    def _work(self, load_id: int) -> None:
        with closing(connections["default"]):
            execute(self._kind, load_id)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


@pytest.fixture
def through_rows(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Callable[[Run, FakeDriver], LoadJob]:
    """Does a run while a load host in a thread drives it; returns the load."""
    settings.HEARTBEAT_SECONDS = 0.05
    monkeypatch.setattr(load_side, "Link", FakeLink)
    # One home stands for two, and the other holds its lock.
    monkeypatch.setattr(engine, "home_lock", lambda: nullcontext(True))

    def do(run: Run, driver: FakeDriver) -> LoadJob:
        host = LoadHost(driver)
        try:
            assert execute(StudyRunKind(drive_by_the_driver, wake=host.wake), run.pk)
        finally:
            host.join()
        run.refresh_from_db()
        return LoadJob.objects.filter(run=run).latest("pk")

    return do


def test_a_run_is_driven_through_the_rows_and_no_row_has_the_password(
    study: Study, through_rows: Callable[[Run, FakeDriver], LoadJob]
) -> None:
    run = first_run(study)
    driver = FakeDriver()
    load = through_rows(run, driver)
    assert (run.state, run.reason) == (RunState.OK, "")
    (side,) = run.load_sides
    assert (side["host"], side["round_trip_ms"]) == ("driver-1", 1.0)
    assert [one.connections for one in driver.loads] == [run.workload.connections]
    assert (load.state, load.sealed_order, load.result) == (JobState.OK, "", None)
    assert SECRET not in serializers.serialize("json", [load, run])


@pytest.mark.long
def test_a_load_host_stays_as_far_away_as_in_earlier_runs(
    study: Study, through_rows: Callable[[Run, FakeDriver], LoadJob]
) -> None:
    run = first_run(study)
    through_rows(run, FakeDriver())
    assert run.fingerprint == {LOAD_ROUND_TRIP: "1"}
    Run.objects.filter(pk=run.pk).update(fingerprint={LOAD_ROUND_TRIP: "0.9"})
    advance_host(study.host_id)
    following = Run.objects.filter(state=RunState.QUEUED).earliest("pk")
    through_rows(following, FakeDriver())
    assert following.fingerprint == {LOAD_ROUND_TRIP: "0.9"}


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
    row = load_desk._exchange(load.pk)({})
    assert row is not None
    failure = load_desk._failure("driver-1", row)
    assert failure is not None
    assert (failure.outcome, str(failure)) == (Outcome.LOST, "load host driver-1: /: full")
    CrashSlot.objects.create(
        **{name: getattr(run.slot, name) for name in ("study", "candidate", "device", "workload")},
        test=test,
    )
    LoadJob.objects.filter(pk=load.pk).update(state=JobState.RUNNING)
    job = current_jobs()[load_host.pk]
    assert (job.study, job.study_name, job.what) == (study.pk, study.name, f"drives {study.host}")


@pytest.fixture
def two(load_host: Host, monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """The load host and a second one."""
    monkeypatch.setattr(driver_module, "_LEAD_S", 0.5)
    inventory = made_up_host(name="driver-2", driver=FakeDriver.name).as_json()
    other = Host.objects.create(
        name="driver-2", inventory=inventory, worker_seen_at=timezone.now()
    )
    return [load_host, other]


def asked_of_two(**values: Any) -> Study:
    return asked(load_hosts=("driver-2", "driver-1"), **values)


@pytest.mark.parametrize(
    ("names", "connections", "why"),
    [
        (("driver-1", "driver-1"), 8, "load host driver-1 is named twice"),
        (("driver-1", "HERE"), 8, "is the measured host itself"),
        (("driver-1", "driver-2"), 1, "2 load hosts cannot share 1 connection: each needs"),
        (("driver-1", "driver-3"), 8, "driver-1, driver-3 have no driver in common"),
    ],
)
def test_load_hosts_that_cannot_drive_together_are_refused(
    names: tuple[str, ...], connections: int, why: str, two: list[Host]
) -> None:
    inventory = made_up_host(name="driver-3", driver="another").as_json()
    Host.objects.create(name="driver-3", inventory=inventory, worker_seen_at=timezone.now())
    here = Host.objects.order_by("pk")[0].name
    names = tuple(here if name == "HERE" else name for name in names)
    with pytest.raises(BadRequest, match=why) as refused:
        asked(load_hosts=names, connections=[connections], driver="auto")
    assert refused.value.field == "load_hosts"


OLD, NEW = (FoundDriver(name="sysbench", version=one) for one in ("1.0.19", "1.0.20"))
BARE = FoundDriver(name="tpcc-mysql", version="1", encrypts=False)


@pytest.mark.parametrize(
    ("asked_for", "there", "field", "why"),
    [
        ("auto", [(BARE, NEW), (BARE, NEW)], None, "sysbench"),
        (
            "tpcc-mysql",
            [(BARE,), (BARE,)],
            "driver",
            "tpcc-mysql on load host driver-1 cannot use",
        ),
        ("auto", [(BARE,), (BARE,)], "load_hosts", "or set ADVISOR_LOAD_TLS=false for the worker"),
        ("sysbench", [(OLD,), (NEW,)], "driver", "has sysbench 1.0.19, driver-2 has 1.0.20"),
        ("auto", [(OLD,), (NEW,)], "load_hosts", "the same driver in the same version"),
    ],
)
def test_what_load_hosts_cannot_drive_with_is_said_before_anything_is_measured(
    asked_for: str,
    there: list[tuple[FoundDriver, ...]],
    field: str | None,
    why: str,
    two: list[Host],
    sent: Sent,
) -> None:
    measured = Host.objects.order_by("pk")[0]
    known = inventory_of(measured)
    with_inventory(measured, known.model_copy(update={"load_needs_tls": True}))
    for host, drivers in zip(two, there, strict=True):
        with_inventory(host, inventory_of(host).model_copy(update={"drivers": drivers}))
    if field is None:
        assert asked_of_two(driver=asked_for).workloads.get().driver == why
        return
    with pytest.raises(BadRequest, match=why) as refused:
        asked_of_two(driver=asked_for)
    assert refused.value.field == field
    with_inventory(measured, known)
    if BARE in there[0]:
        assert asked_of_two(driver=asked_for).workloads.get().driver == BARE.name


def test_two_load_hosts_are_one_workload_whatever_their_order(two: list[Host], sent: Sent) -> None:
    both, other = asked_of_two(), asked(load_hosts=("driver-1", "driver-2"))
    assert both.workloads.get() == other.workloads.get()
    assert str(both.workloads.get()).endswith(", driven by driver-1, driver-2")
    assert both.workloads.get() not in asked(load_hosts=("driver-1",)).workloads.all()
    assert request_again(both).load_hosts == ("driver-1", "driver-2")
    silent(two[1])
    assert study_progress(both).text.startswith("waiting: load host driver-2 is not heard of")
    drain_host(two[0])
    assert "driver-1 is drained, load host driver-2 is not heard of" in study_progress(both).text
    retire_host(two[1])
    both.refresh_from_db()
    assert (both.state, both.reason_code) == (StudyState.CANCELLED, "host_retired")


@pytest.mark.long
def test_a_run_is_driven_by_two_hosts_at_once(
    two: list[Host], sent: Sent, through_rows: Callable[[Run, FakeDriver], LoadJob]
) -> None:
    study = asked_of_two(connections=[3])
    prepare_study(study.pk)
    advance_host(study.host_id)
    run, driver = first_run(study), FakeDriver()
    through_rows(run, driver)
    assert (run.state, run.reason) == (RunState.OK, "")
    assert [(side["host"], side["connections"]) for side in run.load_sides] == [
        ("driver-1", 2),
        ("driver-2", 1),
    ]
    assert sorted(load.connections for load in driver.loads) == [1, 2]
    assert len({load.seed for load in driver.loads}) == 2
    loads = LoadJob.objects.filter(run=run)
    assert {(one.host.name, one.state, one.sealed_order) for one in loads} == {
        ("driver-1", JobState.OK, ""),
        ("driver-2", JobState.OK, ""),
    }


def test_a_load_host_says_for_what_it_waits() -> None:
    connected = Phases(offset_s=0.0, round_trip_s=0.001)
    ready = connected.model_copy(update={"ready": 1.0})
    driving = ready.model_copy(update={"warming": 2.0})
    assert [step_of(one) for one in (connected, ready, driving)] == [
        "connecting the driver",
        "waiting for other load hosts",
        "driving",
    ]


def test_two_load_hosts_with_another_version_of_the_driver_do_not_drive_together(
    two: list[Host], sent: Sent, through_rows: Callable[[Run, FakeDriver], LoadJob]
) -> None:
    study = asked_of_two()
    prepare_study(study.pk)
    advance_host(study.host_id)
    versions = iter(("1.0.20", "1.0.19"))

    class Differing(FakeDriver):
        @property
        def version(self) -> str:  # type: ignore[override]
            return next(versions)

    run = first_run(study)
    load = through_rows(run, Differing())
    assert run.state == RunState.SETUP_FAILED
    assert "driver-1 has fake 1.0.20, driver-2 has fake 1.0.19" in run.reason
    assert load.state == JobState.CANCELLED


def test_a_load_host_that_falls_silent_loses_the_run_and_is_told_to_end(
    study: Study, load_host: Host, settings: Any
) -> None:
    run = first_run(study)

    def taken_by_one_who_dies(_: int) -> None:
        then = timezone.now() - timedelta(hours=1)
        LoadJob.objects.update(state=JobState.RUNNING, claimed_by="x", heartbeat_at=then)

    kind = StudyRunKind(drive_by_the_driver, wake=taken_by_one_who_dies)
    assert execute(kind, run.pk)
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
    assert execute(StudyRunKind(drive_by_the_driver), run.pk)
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "load host driver-1 is not heard of")
    assert LoadJob.objects.get().state == JobState.CANCELLED
    seen_now(load_host)
    advance_host(study.host_id)
    assert Run.objects.get(retry_of=run).state == RunState.QUEUED
    assert [task for task, _, _ in sent] == [EXECUTE]


def test_of_hosts_that_wait_for_each_other_in_a_circle_exactly_one_gives_way(
    study: Study, load_host: Host
) -> None:
    here = study.host
    third = Host.objects.create(name="third", worker_seen_at=timezone.now())
    run = under_way(study)
    there, far = running_on(load_host, run), running_on(third, run)
    queued_load(run, load_host)
    load_desk._check_worth_waiting(run, load_host)  # no circle yet
    queued_load(there, third)
    last = queued_load(far, here)
    gives_way = []
    for one, driving in ((run, load_host), (there, third), (far, here)):
        try:
            load_desk._check_worth_waiting(one, driving)
        except RunFailed as failure:
            gives_way.append((one, failure.outcome))
    assert gives_way == [(far, Outcome.CANCELLED)]
    last.delete()
    for one, driving in ((run, load_host), (there, third)):
        load_desk._check_worth_waiting(one, driving)


def test_a_load_host_that_waits_with_a_run_is_part_of_the_circle(
    study: Study, load_host: Host
) -> None:
    """It has said hello to a run that waits for a second load host, which measures and waits for
    the first to drive it.
    """
    second = Host.objects.create(name="second", worker_seen_at=timezone.now())
    run = under_way(study)
    there = running_on(second, run)
    queued_load(run, load_host, state=JobState.RUNNING)
    queued_load(run, second)
    load_desk._check_worth_waiting(run, second)  # no circle yet
    load_desk._check_worth_waiting(run, load_host)  # has just come
    queued_load(there, load_host)
    load_desk._check_worth_waiting(run, second)  # the older goes first
    with pytest.raises(RunFailed, match="it goes first") as failed:
        load_desk._check_worth_waiting(there, load_host)
    assert failed.value.outcome is Outcome.CANCELLED


def test_a_host_that_no_load_host_can_reach_says_what_is_missing(
    study: Study, settings: Any
) -> None:
    settings.LOAD_ADDRESS = ""
    run = first_run(study)
    assert execute(StudyRunKind(drive_by_the_driver), run.pk)
    run.refresh_from_db()
    assert run.state == RunState.SETUP_FAILED
    assert "ADVISOR_LOAD_ADDRESS" in run.reason
    assert json.dumps(run.fingerprint) == "{}"


def test_every_kind_of_disturbance_has_a_name_for_people() -> None:
    assert set(NAMES) == {kind.value for kind in Kind}
