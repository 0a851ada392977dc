"""What a job found is kept, whatever the database does after its last second."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.db import DataError, InternalError, OperationalError
from django.db.models import QuerySet
from django.utils import timezone

import tuning.tests.test_study_lifecycle as lifecycle
from benchmarks.errors import RunFailed
from benchmarks.jobs import engine
from benchmarks.jobs.sweep import CLEARINGS
from benchmarks.jobs.unstored import Unstored, folder, unstored_endings
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import JobState, Run, RunState
from benchmarks.outcomes import Outcome
from benchmarks.ownership import held_folder
from benchmarks.tests.made_up_host import add_directories
from tuning.creation.devices import register_device
from tuning.hosts.commands import start_probe
from tuning.models import Study, StudyState
from tuning.requests.device import DeviceRequest
from tuning.studies import preparation
from tuning.studies.commands import cancel_study
from tuning.studies.jobs import request_stop, sweep_host
from tuning.studies.scheduler import advance_host
from tuning.tests.fakes import begin, measurement
from tuning.tests.test_study_lifecycle import patiently
from tuning.tests.work import (
    ELSEWHERE,
    Measure,
    dead_claim,
    execute_probe,
    execute_run,
    prepare_study,
)

pytestmark = pytest.mark.django_db(transaction=True)

study = lifecycle.study


class Database:
    """Refuses what closes a job, as long as it is set to; heartbeats continue."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refusals: list[Exception] = []
        store = engine.store

        def once(*arguments: Any, **values: Any) -> bool:
            if self.refusals:
                raise self.refusals.pop(0)
            return store(*arguments, **values)

        monkeypatch.setattr(engine, "store", once)
        monkeypatch.setattr(engine, "_RETRY_S", 0.01)

    def is_away(self, times: int) -> None:
        self.refusals += [OperationalError("database is locked")] * times


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    return Database(monkeypatch)


def measured(plan: Plan, **_: Any) -> Measurement:
    return measurement(7200.0)


def first_run(study: Study) -> Run:
    begin(study)
    run: Run = study.slots.order_by("order")[0].run
    return run


def is_stored(run: Run) -> bool:
    run.refresh_from_db()
    seconds = [sample.completed for sample in run.samples.all()]
    return (run.state, run.throughput, seconds) == (RunState.OK, 7200.0, [100])


def test_a_result_waits_while_the_database_is_away_and_is_stored_by_the_sweep(
    study: Study, database: Database
) -> None:
    run = first_run(study)
    database.is_away(times=3)
    execute_run(run.pk, measure=measured)
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700
    _dies(run)
    for _ in range(2):
        sweep_host(study.host_id)
        run.refresh_from_db()
        assert (run.state, run.throughput) == (RunState.RUNNING, None)  # nor is it lost
    sweep_host(study.host_id)
    assert is_stored(run)
    assert run.finished_at is not None
    assert run.started_at is not None
    assert run.finished_at >= run.started_at
    assert list(folder().iterdir()) == []
    # The study has gone on with what comes next.
    assert Run.objects.filter(state=RunState.QUEUED).count() == 2


def _dies(run: Run) -> None:
    """Its process is gone; the file has the claim that stands in the row."""
    gone = dead_claim()
    Run.objects.filter(pk=run.pk).update(claimed_by=gone)
    [file] = folder().glob("*.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "claim": gone}))


def test_what_a_killed_worker_had_on_disk_is_stored_and_not_measured_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = first_run(study)
    with monkeypatch.context() as patched:
        patched.setattr(engine, "settle", _killed)
        with pytest.raises(Killed):
            execute_run(run.pk, measure=measured)
    _dies(run)
    sweep_host(study.host_id)
    assert is_stored(run)
    assert not run.retries.exists()


def _then(end: Callable[..., Any], found: Measurement | None = None) -> Measure:
    """Measuring is over; what comes then is `end`."""

    def measure(plan: Plan, *, keep: Callable[[Measurement], None], **values: Any) -> Measurement:
        keep(found or measurement(7200.0))
        ended: Measurement = end(**values)
        return ended

    return measure


def _raises(trouble: BaseException) -> Callable[..., Any]:
    def end(**_: Any) -> None:
        raise trouble

    return end


@pytest.mark.parametrize(
    "trouble",
    [
        RunFailed(Outcome.CRASHED, "the server did not end"),
        OSError(5, "Input/output error", "/device/oltp-advisor/runs"),
        OperationalError("the database is away"),
        ZeroDivisionError("a bug"),
        SystemExit(1),
    ],
)
def test_what_comes_after_its_last_measured_second_costs_no_run(
    study: Study, trouble: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    run = first_run(study)

    def end(**_: Any) -> None:
        sweep_host(study.host_id)
        run.refresh_from_db()
        assert run.state == RunState.RUNNING  # it is not stored by another while it is done
        raise trouble

    with suppress(SystemExit):
        execute_run(run.pk, measure=_then(end))
    assert is_stored(run)
    assert (run.reason, run.step, unstored_endings()) == ("", "", [])
    assert isinstance(trouble, SystemExit) or str(trouble) in caplog.text


class Killed(BaseException):
    """No instruction follows, as after SIGKILL."""


def _killed(*_: Any) -> None:
    raise Killed


def _is_killed_at_the_end(run: Run, monkeypatch: pytest.MonkeyPatch, measure: Measure) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(engine, "_close", _killed)
        with pytest.raises(Killed):
            execute_run(run.pk, measure=measure)
    _dies(run)


def test_a_worker_killed_after_the_last_measured_second_loses_no_run(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = first_run(study)
    clone = run.device.layout.run_dir("") / f"run-{run.pk}"
    for _ in range(CLEARINGS):
        sweep_host(study.host_id)  # nothing is left to be cleared: not looked for again

    def stops(**_: Any) -> None:
        clone.mkdir(parents=True)
        raise Killed

    _is_killed_at_the_end(run, monkeypatch, _then(stops))
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    sweep_host(study.host_id)
    assert is_stored(run)
    assert run.finished_at is not None
    assert not run.retries.exists()
    assert not clone.exists()
    assert Run.objects.filter(state=RunState.QUEUED).count() == 2


def test_a_worker_stopped_after_the_last_measured_second_gives_nothing_back(
    study: Study, settings: Any
) -> None:
    run = first_run(study)
    settings.HEARTBEAT_SECONDS = 0.02

    def end(should_stop: Callable[[], bool], **_: Any) -> None:
        patiently(lambda: request_stop(study.host_id))
        _until_asked_to_stop(should_stop)
        raise RunFailed(Outcome.CANCELLED, "stopped")

    execute_run(run.pk, measure=_then(end))
    assert is_stored(run)
    assert run.stop_request == ""


@pytest.mark.parametrize("end", ["well", "badly", "killed"])
def test_what_a_user_cancels_before_it_is_stored_is_cancelled(
    study: Study, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    run = first_run(study)

    def cancelled(**_: Any) -> Measurement:
        cancel_study(study)
        if end == "badly":
            raise OSError(5, "Input/output error")
        return measurement(7200.0)

    if end == "killed":
        _is_killed_at_the_end(run, monkeypatch, _then(cancelled))
    else:
        execute_run(run.pk, measure=_then(cancelled))
    sweep_host(study.host_id)
    run.refresh_from_db()
    study.refresh_from_db()
    assert (run.state, run.reason, run.throughput) == (
        RunState.CANCELLED,
        "cancelled by the user",
        None,
    )
    assert run.finished_at is not None
    assert not run.samples.exists()
    assert (study.state, unstored_endings()) == (StudyState.CANCELLED, [])


def test_a_file_that_cannot_be_deleted_does_no_harm(
    study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a file system that was made read-only after an error of its disk."""
    run = first_run(study)

    def refuse(path: Path, *_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system", str(path))

    def write(result: Unstored) -> bool:
        return bool(result.path.write_text(json.dumps(vars(result), default=str)))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        patched.setattr(Unstored, "write", write)
        folder().mkdir(exist_ok=True)
        execute_run(run.pk, measure=measured)
        patched.setattr(Path, "rename", refuse)
        sweep_host(study.host_id)
    assert is_stored(run)
    assert "Read-only file system" in caplog.text
    sweep_host(study.host_id)
    assert {path.suffix for path in folder().iterdir()} == {".set-aside"}
    assert is_stored(run)


@pytest.mark.parametrize("measure", [measured, _then(_raises(OSError(28, "No space left")))])
def test_a_full_disk_keeps_the_result_in_memory_until_it_is_stored(
    study: Study, database: Database, monkeypatch: pytest.MonkeyPatch, measure: Measure
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    run = first_run(study)
    database.is_away(times=4)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        execute_run(run.pk, measure=measure)
    assert is_stored(run)
    assert list(folder().iterdir()) == []


@pytest.mark.parametrize(
    ("refusal", "times"), [(OperationalError, 1), (InternalError, 4), (DataError, 4)]
)
def test_a_database_that_takes_nothing_for_a_while_costs_no_result(
    study: Study, database: Database, refusal: type[Exception], times: int
) -> None:
    """PostgreSQL says so of one that may only be read, as after a failover."""
    run = first_run(study)
    database.refusals += [refusal("cannot execute UPDATE in a read-only transaction")] * times
    execute_run(run.pk, measure=measured)
    while not is_stored(run):
        sweep_host(study.host_id)
    assert (database.refusals, unstored_endings()) == ([], [])


def test_a_claim_is_not_kept_when_its_row_cannot_be_read(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = first_run(study)

    def away(*_: Any, **__: Any) -> None:
        assert Run.objects.filter(pk=run.pk).exclude(claimed_by="").exists()
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patched:
        patched.setattr(QuerySet, "get", away)
        with pytest.raises(OperationalError):
            execute_run(run.pk, measure=measured)
    assert execute_run(run.pk, measure=measured)
    assert is_stored(run)


def test_what_the_database_does_not_take_ends_the_run_and_is_kept_for_a_look(
    study: Study, database: Database
) -> None:
    run = first_run(study)
    database.refusals.append(DataError("integer out of range"))
    execute_run(run.pk, measure=measured)
    run.refresh_from_db()
    assert (run.state, run.throughput) == (RunState.INTERNAL_ERROR, None)
    assert "integer out of range" in run.reason
    [file] = folder().iterdir()
    assert file.suffix == ".set-aside"
    assert json.loads(file.read_text())["ending"]["throughput"] == 7200.0


def test_a_result_that_cannot_be_read_for_a_moment_is_stored_later(
    study: Study, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = first_run(study)
    database.is_away(times=1)
    execute_run(run.pk, measure=measured)

    def refuse(path: Path) -> str:
        raise OSError(24, "Too many open files", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", refuse)
        assert unstored_endings() == []
    sweep_host(study.host_id)
    assert is_stored(run)


def test_results_that_are_not_of_this_database_are_set_aside(study: Study) -> None:
    run = first_run(study)
    execute_run(run.pk, measure=measured)
    for kind, row in (("run", run.pk), ("run", 999), ("dance", 1)):
        Unstored(kind, row, "elsewhere:1:1", {"throughput": 1.0}).write()
    (folder() / "run-5.json").write_text('{"kind": "run"')
    (folder() / "run-7.draft").write_text('{"kind": "r')  # by a process that was killed
    sweep_host(study.host_id)
    assert {path.suffix for path in folder().iterdir()} == {".set-aside"}
    assert len(list(folder().iterdir())) == 4
    assert is_stored(run)


def test_probes_and_preparations_are_kept_as_runs_are(
    study: Study, database: Database, tmp_path: Path
) -> None:
    database.is_away(times=1)
    prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, len(unstored_endings())) == (StudyState.PREPARING, 1)
    sweep_host(study.host_id)
    study.refresh_from_db()
    assert (study.state, unstored_endings()) == (StudyState.RUNNING, [])
    cancel_study(study)
    add_directories(tmp_path / "other")
    probe = start_probe(register_device(DeviceRequest(path=tmp_path / "other")))
    database.is_away(times=1)

    def fails(*_: Any, **__: Any) -> Any:
        raise OSError(5, "broken")

    execute_probe(probe.pk, look=fails)
    probe.refresh_from_db()
    assert probe.state == JobState.RUNNING
    sweep_host(study.host_id)
    probe.refresh_from_db()
    assert (probe.state, probe.reason_code) == (JobState.FAILED, "setup_failed")


def test_a_database_that_is_away_when_a_run_begins_is_no_bug_and_the_run_comes_again(
    study: Study,
) -> None:
    run = first_run(study)

    def away(_: Run) -> None:
        raise OperationalError("the database system is starting up")

    execute_run(run.pk, measure=measured, cut_rule=away)
    run.refresh_from_db()
    assert run.state == RunState.LOST
    advance_host(study.host_id)
    assert run.retries.get().state == RunState.QUEUED


def test_a_run_is_not_begun_beside_one_that_is_said_to_run(study: Study) -> None:
    first, second = _two_runs(study)
    gone = dead_claim()
    Run.objects.filter(pk=first.pk).update(state=RunState.RUNNING, claimed_by=gone)
    assert not execute_run(second.pk, measure=measured)
    sweep_host(study.host_id)
    assert execute_run(second.pk, measure=measured)
    assert is_stored(second)


def _two_runs(study: Study) -> tuple[Run, Run]:
    begin(study)
    first, second = (slot.run for slot in study.slots.order_by("order")[:2])
    return first, second


def _until_asked_to_stop(should_stop: Callable[[], bool]) -> None:
    while not should_stop():
        pass


@pytest.mark.parametrize("cancel_first", [True, False])
def test_a_cancel_outweighs_the_end_of_the_worker_and_survives_it(
    study: Study, settings: Any, monkeypatch: pytest.MonkeyPatch, cancel_first: bool
) -> None:
    """Of a preparation, which would be given back otherwise and begin again."""
    settings.HEARTBEAT_SECONDS = 0.02
    asks: list[Callable[[], None]] = [
        lambda: request_stop(study.host_id),
        lambda: cancel_study(study),
    ]

    def load(*_: Any, should_stop: Callable[[], bool], **__: Any) -> None:
        asks[cancel_first]()
        _until_asked_to_stop(should_stop)
        asks[not cancel_first]()
        raise RunFailed(Outcome.CANCELLED, "stopped")

    monkeypatch.setattr(preparation, "ensure_dataset", load)
    prepare_study(study.pk)
    advance_host(study.host_id)
    study.refresh_from_db()
    assert (study.state, study.reason) == (StudyState.CANCELLED, "cancelled by the user")


def test_a_worker_that_ends_in_the_last_moment_of_a_preparation_stops_no_retries(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        preparation, "ensure_dataset", lambda *_, **__: request_stop(study.host_id)
    )
    prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.stop_request) == (StudyState.RUNNING, "")
    advance_host(study.host_id)
    run = study.slots.order_by("order")[0].run
    Run.objects.filter(pk=run.pk).update(state=RunState.LOST)
    advance_host(study.host_id)
    assert run.retries.get().state == RunState.QUEUED


def test_a_preparation_that_was_given_to_another_stops(
    study: Study, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HEARTBEAT_SECONDS = 0.02

    def load(*_: Any, should_stop: Callable[[], bool], **__: Any) -> None:
        Study.objects.filter(pk=study.pk).update(claimed_by="another:1:1")
        _until_asked_to_stop(should_stop)
        raise RunFailed(Outcome.CANCELLED, "stopped")

    monkeypatch.setattr(preparation, "ensure_dataset", load)
    prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.claimed_by) == (StudyState.PREPARING, "another:1:1")


def test_leftovers_are_cleared_when_nothing_runs_and_only_then(study: Study) -> None:
    run, other = _two_runs(study)
    runs = run.device.layout.run_dir("")
    left = runs / f"run-{run.pk}"
    gone: list[bool] = []

    def measure(plan: Plan, **_: Any) -> Measurement:
        left.mkdir(parents=True)
        sweep_host(study.host_id)
        gone.append(not left.exists())
        return measurement()

    execute_run(other.pk, measure=measure)
    sweep_host(study.host_id)
    assert gone == [False]
    assert not left.exists()


@pytest.mark.parametrize("heard", [-1, 1], ids=["long ago", "before the clock was set back"])
def test_a_run_that_is_lost_here_but_lives_in_a_container_keeps_its_folder(
    study: Study, heard: int
) -> None:
    """It was cut off from the database, or its number is that of a run in another database."""
    run = first_run(study)
    row = Run.objects.filter(pk=run.pk)
    row.update(state=RunState.RUNNING, claimed_by=ELSEWHERE, heartbeat_at=timezone.now())
    folder = run.device.layout.run_dir(f"run-{run.pk}")
    with held_folder(folder):
        sweep_host(study.host_id)
        run.refresh_from_db()
        assert run.state == RunState.RUNNING
        row.update(heartbeat_at=timezone.now() + timedelta(hours=heard))
        for _ in range(2):
            sweep_host(study.host_id)
        run.refresh_from_db()
        assert (run.state, run.reason) == (RunState.LOST, "the worker stopped sending heartbeats")
        assert folder.is_dir()
    sweep_host(study.host_id)
    assert not folder.exists()


def test_a_step_is_stored_with_the_next_heartbeat(study: Study, settings: Any) -> None:
    run = first_run(study)
    settings.HEARTBEAT_SECONDS = 0.02
    steps: list[str] = []

    def measure(plan: Plan, *, report: Callable[[str], None], **_: Any) -> Measurement:
        report("measuring")
        while not steps or steps[-1] == "":
            patiently(
                lambda: steps.append(Run.objects.values_list("step", flat=True).get(pk=run.pk))
            )
        return measurement()

    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert (steps[-1], run.step) == ("measuring", "")


def test_what_a_measured_server_leaves_behind_ends_with_its_run_and_takes_no_lock(
    study: Study, tmp_path: Path
) -> None:
    begin(study)
    run, other = _two_runs(study)
    started = tmp_path / "pid"

    def measure(plan: Plan, **_: Any) -> Measurement:
        """It waits for the machine's lock in a session of its own, and its parent is gone."""
        waits = f"echo $$ > {started}.new; mv {started}.new {started}"
        later = f"setsid sh -c '{waits}; exec flock {settings.MEASURING_LOCK} sleep 60' &"
        subprocess.run(["sh", "-c", later], check=True, stdout=subprocess.DEVNULL)
        while not started.exists():
            time.sleep(0.01)
        return measurement()

    assert execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert run.state == RunState.OK
    assert not psutil.pid_exists(int(started.read_text()))
    assert execute_run(other.pk, measure=lambda *_, **__: measurement())
