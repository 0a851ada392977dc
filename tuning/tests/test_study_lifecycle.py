"""A study from creation to recommendation, with rows and clock real and only measuring faked."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from celery import Celery, current_app
from django.db import DataError, IntegrityError, OperationalError, connection
from django.db.backends.signals import connection_created
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.errors import BenchmarkError, DeviceFull, DeviceUnusable, NotListed, RunFailed
from benchmarks.inventory import in_place
from benchmarks.jobs import engine, heartbeat
from benchmarks.jobs.locks import home_lock, this_process
from benchmarks.jobs.sweep import CLEARINGS
from benchmarks.jobs.unstored import unstored_endings
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Host, Run, RunState
from benchmarks.outcomes import Outcome
from tuning.catalogue.costs import CostKind
from tuning.creation.create import create_study
from tuning.errors import BadRequest, InvalidConfig, TuningError, UnknownTemplate
from tuning.export.formats import ExportRequest
from tuning.models import EventKind, Study, StudyState
from tuning.recommendations import StudyFiles
from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.study import StudyRequest
from tuning.results.boards import boards_of
from tuning.results.study_rows import StudyRows
from tuning.stored_documents import document_of
from tuning.studies import continuation
from tuning.studies import preparation as prepare
from tuning.studies import scheduler as dispatch
from tuning.studies.commands import cancel_study, resume_study
from tuning.studies.jobs import KINDS, request_stop, sweep_host
from tuning.studies.next_jobs import waiting_studies
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import EXECUTE, PREPARE, advance_host
from tuning.tests.export_cases import exported
from tuning.tests.fakes import (
    BINARY,
    MINE,
    begin,
    measure_by_config,
    measurement,
    run_to_the_end,
)
from tuning.tests.work import dead_claim, execute_run, next_run, prepare_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study(host_of_fakes: None, sent: list[Any]) -> Study:
    return create_study(StudyRequest(template="compare", configs=[MINE], blocks=2))


def test_the_usual_study_has_proposals_for_this_host(host_of_fakes: None, sent: list[Any]) -> None:
    study = create_study(StudyRequest(allow=frozenset({CostKind.OBSERVABILITY})))
    assert (study.template, study.budget_minutes) == ("first-answer", None)
    assert study.request["allow"] == ["observability"]
    advisor = study.candidates.get(name="advisor")
    assert advisor.config.knobs["performance_schema"] == "OFF"
    reasons = {note["name"] for note in advisor.notes if note["action"] == "proposed"}
    assert {"innodb_buffer_pool_size", "innodb_redo_log_capacity"} <= reasons
    assert [check["passed"] for check in advisor.checks] == [True, True]


def test_a_new_study_has_its_rows_and_asks_for_its_dataset(
    study: Study, sent: list[tuple[str, int, str]]
) -> None:
    study.refresh_from_db()
    assert study.state == StudyState.PREPARING
    assert sent == [(PREPARE, study.pk, study.host.queue)]
    assert [c.name for c in study.candidates.all()] == ["server-default", "mine"]


def test_nothing_is_said_to_have_begun_before_a_worker_has_begun_it(study: Study) -> None:
    Host.objects.update(idle_reason="its version is another one")
    study.refresh_from_db()
    assert "takes no work" in study_progress(study).text
    Host.objects.update(idle_reason="")
    study = Study.objects.get(pk=study.pk)  # another advisor measures on the machine
    assert study_progress(study).text == "waiting for the host"
    assert study.shown_state == "Queued"
    assert [one.kind for one in study.events.all()] == [EventKind.REQUESTED]
    prepare_study(study.pk)
    study.refresh_from_db()
    kinds = [one.kind for one in study.events.all()]
    assert kinds == [EventKind.PREPARING, EventKind.REQUESTED]


def test_the_first_block_is_queued_when_the_gate_has_spoken(study: Study) -> None:
    assert not study.slots.exists()
    assert not Run.objects.exists()
    # What is shown until then: 2 blocks of both candidates, the baseline twice.
    assert study_progress(study).runs_total >= 6
    prepare_study(study.pk)
    assert not study.slots.exists()
    advance_host(study.host_id)
    names = sorted((slot.candidate.name, slot.replicate) for slot in study.slots.all())
    assert names == [("mine", 0), ("server-default", 0), ("server-default", 1)]
    assert {slot.block for slot in study.slots.all()} == {1}


def test_a_study_runs_block_by_block_to_its_recommendation(study: Study) -> None:
    run_to_the_end(study, measure_by_config)
    assert study.state == StudyState.FINISHED
    (board,) = boards_of(StudyRows(study))
    rows = {row.name: row for row in board.judgement.ranked}
    assert rows["mine"].estimate is not None
    assert rows["mine"].estimate.ratio == pytest.approx(1.2)
    assert (rows["mine"].rank, rows["server-default"].rank) == (1, 2)
    recommendation = study.recommendations.get()
    assert recommendation.candidate.name == "mine"
    assert "innodb_io_capacity" in exported(study)
    own = StudyFiles.of(document_of(study)).export(recommendation.pk, ExportRequest())
    assert own.text == study.request["configs"][0]["text"], "the file of the user is their own"
    assert "20.0 %" in recommendation.verdict
    assert Run.objects.filter(state=RunState.OK).first().samples.count() == 1  # type: ignore[union-attr]


def test_a_server_that_was_replaced_ends_the_study_and_is_known_from_then_on(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgraded = replace(BINARY, digest="another", version_text="9.7.5")
    monkeypatch.setattr(in_place, "identify", lambda _: upgraded)
    prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "server_changed")
    assert "is 9.7.5 now. Start a new study" in study.reason
    again = create_study(StudyRequest(template="compare", configs=[MINE], blocks=2))
    assert again.server.digest == "another"


def test_one_message_at_a_time_is_sent_per_host(
    study: Study, sent: list[tuple[str, int, str]]
) -> None:
    prepare_study(study.pk)
    sent.clear()
    advance_host(study.host_id)
    advance_host(study.host_id)
    first = study.slots.order_by("order")[0].run
    assert sent == [(EXECUTE, first.pk, study.host.queue)] * 2


def test_a_faster_baseline_is_recommended_as_it_is(study: Study) -> None:
    run_to_the_end(study, lambda plan, **_: measurement(5000.0 if plan.options else 6000.0))
    recommendation = study.recommendations.get()
    assert recommendation.candidate.is_baseline
    assert "keep it" in recommendation.verdict


def test_a_second_claim_of_a_run_does_nothing(study: Study) -> None:
    begin(study)
    run = study.slots.order_by("order")[0].run
    assert execute_run(run.pk, measure=measure_by_config) is True
    assert execute_run(run.pk, measure=measure_by_config) is False


def test_two_runs_never_run_on_one_host(study: Study) -> None:
    begin(study)
    first, second = (slot.run for slot in study.slots.order_by("order")[:2])
    Run.objects.filter(pk=first.pk).update(state=RunState.RUNNING)
    with pytest.raises(Exception, match="UNIQUE"):
        Run.objects.filter(pk=second.pk).update(state=RunState.RUNNING)


def test_a_failed_run_keeps_its_reason_and_the_study_continues(study: Study) -> None:
    def measure(plan: Plan, **_: Any) -> Measurement:
        if plan.options:
            raise RunFailed(Outcome.NO_START, "refused", log_tail="[ERROR] unknown variable")
        return measurement()

    run_to_the_end(study, measure)
    assert study.state == StudyState.FINISHED
    failed = Run.objects.filter(state=RunState.NO_START)
    assert failed.count() == 1  # what fails leaves the race
    assert {(run.reason, run.log_tail, run.throughput) for run in failed} == {
        ("refused", "[ERROR] unknown variable", None)
    }
    name = failed.get().slot.candidate.name
    assert study.recommendations.get().candidate.is_baseline
    assert study.recommendations.get().verdict.startswith(
        "Nothing to compare with server-default: every other candidate failed. "
        f"{name}: server did not start (refused). Each failed run has the last lines of its log."
    )


@pytest.mark.long
def test_the_evidence_counts_the_blocks_that_gave_a_ratio(study: Study, settings: Any) -> None:
    settings.DISTURBED_RUN_RETRIES = 0
    outcomes = chain([Outcome.DISTURBED], repeat(Outcome.OK))

    def measure(plan: Plan, **_: Any) -> Measurement:
        if plan.options and next(outcomes) is Outcome.DISTURBED:
            raise RunFailed(Outcome.DISTURBED, "the host stalled")
        return measure_by_config(plan)

    run_to_the_end(study, measure)
    recommendation = study.recommendations.get()
    assert recommendation.verdict.startswith("mine was chosen by 1 block.")
    assert recommendation.verdict.endswith("1 run was disturbed: 1 left out.")


def test_a_study_without_a_baseline_figure_fails_and_says_so(study: Study) -> None:
    def measure(plan: Plan, **_: Any) -> Measurement:
        if not plan.options:
            raise RunFailed(Outcome.ZERO_WORK, "nothing done")
        return measurement()

    run_to_the_end(study, measure)
    assert (study.state, study.reason_code) == (StudyState.FAILED, "no_baseline")
    assert not study.recommendations.exists()


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (OSError(errno.ENOSPC, "no space", "/device/oltp-advisor/runs"), RunState.DISK_FULL),
        (OSError(errno.EACCES, "denied", "/device/oltp-advisor/runs"), RunState.SETUP_FAILED),
        (DeviceFull("/device: cannot be written to: no space"), RunState.DISK_FULL),
        (DeviceUnusable("/device: denied"), RunState.SETUP_FAILED),
        (ZeroDivisionError("a bug"), RunState.INTERNAL_ERROR),
    ],
)
def test_an_error_of_the_file_system_is_no_bug_of_ours(
    study: Study, error: Exception, state: RunState
) -> None:
    def measure(plan: Plan, **_: Any) -> Measurement:
        raise error

    begin(study)
    run = study.slots.order_by("order")[0].run
    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert run.state == state
    assert str(error) in run.reason


def test_a_step_that_cannot_be_stored_does_not_end_the_run(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> int:
        raise OperationalError("the database is away")

    def measure(plan: Plan, *, report: Callable[[str], None], **_: Any) -> Measurement:
        with monkeypatch.context() as broken:
            broken.setattr(QuerySet, "update", away)
            report("measuring")
        return measurement()

    begin(study)
    run = study.slots.order_by("order")[0].run
    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert run.state == RunState.OK


def test_runs_that_do_not_compare_are_left_out_and_counted(study: Study) -> None:
    keys = iter(["a", "a", "a", "b"])
    run_to_the_end(study, lambda plan, **_: measurement(key=next(keys)))
    (board,) = boards_of(StudyRows(study))
    assert len(board.excluded) == 1
    assert sum(row.runs for row in board.judgement.ranked) == 3


def is_asked_to_stop(should_stop: Callable[[], bool]) -> bool:
    """Whether it is within seconds."""
    deadline = time.monotonic() + 5
    while not should_stop() and time.monotonic() < deadline:
        time.sleep(0.01)
    return should_stop()


def test_a_running_run_is_asked_to_stop_when_its_study_is_cancelled(
    study: Study, settings: Any
) -> None:
    def measure(plan: Plan, *, should_stop: Callable[[], bool], **_: Any) -> Measurement:
        cancel_study(study)
        is_asked = is_asked_to_stop(should_stop)
        raise RunFailed(Outcome.CANCELLED, "stopped" if is_asked else "never asked to")

    settings.HEARTBEAT_SECONDS = 0.3
    begin(study)
    run = study.slots.order_by("order")[0].run
    execute_run(run.pk, measure=measure)
    advance_host(study.host_id)
    run.refresh_from_db()
    study.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "cancelled by the user")
    assert study.state == StudyState.CANCELLED


def _abandon(run: Run, **values: Any) -> None:
    now = timezone.now()
    defaults = {"state": RunState.RUNNING, "claimed_by": this_process(), "heartbeat_at": now}
    Run.objects.filter(pk=run.pk).update(**(defaults | values))


def _begun(study: Study) -> Run:
    begin(study)
    run: Run = study.slots.order_by("order")[0].run
    return run


def test_a_run_of_a_dead_process_is_lost_and_queued_again_as_a_new_run(study: Study) -> None:
    run = _begun(study)
    _abandon(run, heartbeat_at=timezone.now() - timedelta(minutes=5))
    with home_lock():  # it lives, however old its heartbeat is: the clock was set, or it stalled
        sweep_host(study.host_id)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    sweep_host(study.host_id)
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.LOST, "the worker died")
    retry = run.retries.get()
    assert retry.state == RunState.QUEUED
    assert retry.slot.candidate.config == run.config


def patiently(what: Callable[[], None]) -> None:
    """Do it beside a heartbeat: SQLite in memory refuses at once what a file would wait for."""
    while True:
        with suppress(OperationalError):
            return what()


@pytest.mark.parametrize("step", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_clock_that_is_set_while_a_run_is_measured_costs_nothing(
    study: Study, settings: Any, step: timedelta
) -> None:
    """The clock of the database, which every connection to SQLite asks for itself."""
    run = _begun(study)
    settings.HEARTBEAT_SECONDS = 0.3
    ahead = timedelta()

    def ask(execute: Callable[..., Any], sql: str, *others: Any) -> Any:
        return execute(sql.replace("'NOW'", f"'NOW', '{ahead.total_seconds()} seconds'"), *others)

    def fake(connection: Any, **_: Any) -> None:
        connection.execute_wrappers.append(ask)

    def heard() -> datetime:
        patiently(run.refresh_from_db)
        assert run.state == RunState.RUNNING
        assert run.heartbeat_at is not None
        return run.heartbeat_at

    def measure(plan: Plan, *, should_stop: Callable[[], bool], **_: Any) -> Measurement:
        nonlocal ahead
        patiently(lambda: sweep_host(study.host_id))
        before, ahead = heard(), step
        for _sweep in range(10):
            patiently(lambda: sweep_host(study.host_id))
            time.sleep(0.1)
        patience_ends = time.monotonic() + 20
        while abs(heard() - before) < timedelta(minutes=59) and time.monotonic() < patience_ends:
            time.sleep(0.1)
        assert abs(heard() - before) > timedelta(minutes=59)
        assert not should_stop()
        return measurement()

    connection_created.connect(fake)
    try:
        fake(connection)
        execute_run(run.pk, measure=measure)
    finally:
        connection_created.disconnect(fake)
        connection.execute_wrappers.remove(ask)
    run.refresh_from_db()
    assert run.state == RunState.OK
    assert run.finished_at is not None
    assert run.started_at is not None
    assert timedelta() < run.finished_at - run.started_at < timedelta(minutes=1)


def test_a_preparation_that_stands_still_fails_no_study(study: Study) -> None:
    for _ in range(3):
        old = timezone.now() - timedelta(hours=1)
        Study.objects.filter(pk=study.pk).update(claimed_by=this_process(), heartbeat_at=old)
        with home_lock():
            sweep_host(study.host_id)
    study.refresh_from_db()
    assert (study.state, study.claimed_by) == (StudyState.PREPARING, this_process())


def test_a_run_whose_process_died_after_its_claim_is_lost_and_comes_again(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the times that the database itself wrote."""
    run = _begun(study)

    class Killed(BaseException):
        pass

    def measure(plan: Plan, **_: Any) -> Measurement:
        raise Killed

    def killed(*_: Any) -> None:
        raise Killed

    monkeypatch.setattr(engine, "_close", killed)
    with pytest.raises(Killed):
        execute_run(run.pk, measure=measure)
    Run.objects.filter(pk=run.pk).update(claimed_by=dead_claim())
    sweep_host(study.host_id)
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.LOST, "the worker died")
    assert run.retries.get().state == RunState.QUEUED


@pytest.mark.long
def test_a_run_that_gets_lost_again_is_not_retried_for_ever(study: Study) -> None:
    run = _begun(study)
    for _ in range(5):
        _abandon(run)
        sweep_host(study.host_id)
        run.refresh_from_db()
        if not run.retries.exists():
            break
        run = run.retries.get()
    assert Run.objects.filter(state=RunState.LOST).count() == 2
    run_to_the_end(study, measure_by_config)
    assert study.state == StudyState.FINISHED


def _given_up(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=RunState.LOST, reason="swept")


@pytest.mark.parametrize(
    ("meanwhile", "state", "reason", "throughput"),
    [
        (None, RunState.OK, "", 6000.0),
        (lambda study: advance_host(study.host_id), RunState.LOST, "swept", None),
        (cancel_study, RunState.LOST, "swept", None),
    ],
    ids=["waits to be measured again", "was queued again", "its study has ended"],
)
def test_a_late_result_counts_only_while_the_run_is_not_measured_again(
    study: Study,
    meanwhile: Callable[[Study], None] | None,
    state: RunState,
    reason: str,
    throughput: float | None,
) -> None:
    run = _begun(study)

    def measure(plan: Plan, **_: Any) -> Measurement:
        _given_up(run)
        if meanwhile is not None:
            meanwhile(study)
        return measurement()

    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert (run.state, run.reason, run.throughput) == (state, reason, throughput)
    assert run.samples.exists() is (throughput is not None)
    assert unstored_endings() == []


def test_a_stopping_worker_gives_its_run_back(study: Study, settings: Any) -> None:
    settings.HEARTBEAT_SECONDS = 0.3
    run = _begun(study)

    def measure(plan: Plan, *, should_stop: Callable[[], bool], **_: Any) -> Measurement:
        request_stop(study.host_id)
        assert is_asked_to_stop(should_stop)
        raise RunFailed(Outcome.CANCELLED, "stopped")

    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "the worker was stopped")
    sweep_host(study.host_id)
    assert run.retries.get().state == RunState.QUEUED


@pytest.mark.long
def test_a_study_is_not_at_its_end_while_its_last_run_was_interrupted(study: Study) -> None:
    begin(study)
    slots = list(study.slots.order_by("order"))
    for slot in slots[:-1]:
        execute_run(slot.run_id, measure=measure_by_config)

    def stopped(plan: Plan, **_: Any) -> Measurement:
        Run.objects.filter(pk=slots[-1].run_id).update(stop_request=heartbeat.WORKER_STOPPING)
        raise RunFailed(Outcome.CANCELLED, "stopped")

    execute_run(slots[-1].run_id, measure=stopped)
    advance_host(study.host_id)  # as the task does when its run has ended, before any sweep
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING
    assert slots[-1].run.retries.get().state == RunState.QUEUED
    run_to_the_end(study, measure_by_config)
    assert study.state == StudyState.FINISHED
    assert boards_of(StudyRows(study))[0].judgement.ranked[0].runs == 2


@pytest.mark.long
@pytest.mark.parametrize("bug", [ZeroDivisionError, DataError, IntegrityError])
def test_a_bug_while_concluding_does_not_keep_the_host_from_other_studies(
    study: Study, monkeypatch: pytest.MonkeyPatch, bug: type[Exception]
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise bug("a bug")

    monkeypatch.setattr(dispatch, "store_recommendations", broken)
    second = create_study(StudyRequest(template="compare", configs=[MINE], blocks=1))
    run_to_the_end(study, measure_by_config)
    second.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "internal_error")
    assert study.reason == f"{bug.__name__}: a bug"
    assert second.state == StudyState.PREPARING


def test_whoever_decides_first_takes_the_studys_row(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked of a database with locks of rows. SQLite has none: it lets one write at once,
    so two that decide at once are only seen to wait for the row on PostgreSQL.
    """
    asked: list[str] = []

    def hear(execute: Callable[..., Any], sql: str, *others: Any) -> Any:
        asked.append(sql)
        return execute(sql.removesuffix(" FOR UPDATE"), *others)

    monkeypatch.setattr(connection.features, "has_select_for_update", True)
    with connection.execute_wrapper(hear):
        advance_host(study.host_id)
    first = asked[asked.index("BEGIN IMMEDIATE") + 1]
    assert 'FROM "tuning_study"' in first
    assert first.endswith(" FOR UPDATE")


def test_a_run_that_begins_while_a_turn_is_taken_is_seen_by_who_holds_the_row(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its block would be over for whoever decides."""
    begin(study)
    *others, last = study.slots.order_by("order")
    for slot in others:
        execute_run(slot.run_id, measure=measure_by_config)
    find = waiting_studies

    def found_and_begun(host_id: int) -> list[tuple[Study, bool]]:
        found = find(host_id)
        Run.objects.filter(pk=last.run_id).update(state=RunState.RUNNING)
        return found

    monkeypatch.setattr(dispatch, "waiting_studies", found_and_begun)
    advance_host(study.host_id)
    assert study.slots.count() == len(others) + 1
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING


def test_between_two_runs_of_a_block_the_database_is_asked_little(study: Study) -> None:
    """Where it is on the host that measures, it shows there."""
    begin(study)
    run = next_run(study)
    assert run is not None
    with CaptureQueriesContext(connection) as queries:
        execute_run(run, measure=measure_by_config)
        advance_host(study.host_id)
    assert len([one for one in queries if one["sql"].startswith("SELECT")]) <= 17


@pytest.mark.long
def test_a_database_that_is_away_while_concluding_ends_no_study(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(dispatch, "store_recommendations", away)
        with pytest.raises(OperationalError):
            run_to_the_end(study, measure_by_config)
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING
    advance_host(study.host_id)
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED


def test_a_block_that_cannot_be_written_is_a_bug_and_no_end(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else can have written it: whoever decides holds the study's row."""

    def broken(*_: Any, **__: Any) -> None:
        raise IntegrityError("UNIQUE constraint failed")

    begin(study)
    monkeypatch.setattr(continuation, "add_slots", broken)
    run_to_the_end(study, measure_by_config)
    assert (study.state, study.reason_code) == (StudyState.FAILED, "internal_error")
    assert "UNIQUE" in study.reason


def test_an_abandoned_preparation_is_taken_up_again_once(study: Study, sent: list[Any]) -> None:
    old = timezone.now() - timedelta(minutes=5)
    for _ in range(2):
        Study.objects.filter(pk=study.pk).update(claimed_by="other:1:1.00", heartbeat_at=old)
        sent.clear()
        sweep_host(study.host_id)
        study.refresh_from_db()
        if study.is_finished:
            break
        assert sent == [(PREPARE, study.pk, study.host.queue)]
    assert (study.state, study.reason_code) == (StudyState.FAILED, "lost")


def test_a_dataset_that_can_not_be_loaded_fails_the_study_with_its_reason(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise RunFailed(Outcome.CRASHED, "the server crashed", log_tail="signal 11")

    monkeypatch.setattr(prepare, "ensure_dataset", crash)
    prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "crashed")
    assert study.log_tail == "signal 11"
    assert not Run.objects.filter(state=RunState.QUEUED).exists()


@pytest.mark.long
def test_a_disk_that_is_full_while_the_dataset_is_loaded_pauses_the_study_until_there_is_room(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise RunFailed(Outcome.DISK_FULL, "/srv: 1.0 GiB free on its file system")

    with monkeypatch.context() as patch:
        patch.setattr(prepare, "ensure_dataset", full)
        prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.claimed_by) == (StudyState.PREPARING, "")
    assert (study.paused_by, study.pause_reason[:14]) == ("the advisor", "/srv: 1.0 GiB ")
    resume_study(study)
    run_to_the_end(study, measure_by_config)
    assert study.state == StudyState.FINISHED


@pytest.mark.long
def test_a_redis_that_is_away_does_not_stop_the_study(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kombu.exceptions import OperationalError

    def down(*_: Any, **__: Any) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(current_app, "send_task", down)
    run_to_the_end(study, measure_by_config)
    assert study.state == StudyState.FINISHED


def test_nobody_waits_for_a_redis_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kombu.exceptions import OperationalError
    from kombu.utils import functional

    def waited(seconds: float) -> None:
        pytest.fail("it waits for Redis")

    monkeypatch.setattr(functional, "sleep", waited)
    app = Celery("sender", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = f"redis+socket://{tmp_path}/nobody.sock"
    with pytest.raises(OperationalError):
        app.send_task("execute", args=[1], queue="bench.nobody")


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        (StudyRequest(template="nonesuch"), UnknownTemplate, "template"),
        (StudyRequest(template="compare"), BadRequest, "configs"),
        (
            StudyRequest(devices=[DeviceRequest(), DeviceRequest(path=Path("/nowhere"))]),
            NotListed,
            "devices[1].path",
        ),
        (
            StudyRequest(devices=[DeviceRequest(log_dir=Path("/nowhere"))]),
            NotListed,
            "devices[0].log_dir",
        ),
        (StudyRequest(devices=[DeviceRequest(), DeviceRequest()]), BadRequest, "devices"),
        (
            StudyRequest(configs=[ConfigText.of("mine", b"[mysqld]\nnonesuch = 1\n")]),
            InvalidConfig,
            "",
        ),
        (StudyRequest(configs=[MINE, MINE]), InvalidConfig, ""),
        (StudyRequest(configs=[ConfigText.of("whitepaper-a", MINE.data)]), InvalidConfig, ""),
    ],
)
def test_a_refused_request_stores_nothing_and_names_the_field(
    host_of_fakes: None,
    request_: StudyRequest,
    error: type[Exception],
    field: str,
) -> None:
    with pytest.raises(error) as refused:
        create_study(request_)
    assert isinstance(refused.value, BenchmarkError | TuningError)
    assert refused.value.field == field
    assert not Study.objects.exists()
    assert not Run.objects.exists()


def test_progress_goes_from_nothing_to_all(study: Study) -> None:
    fractions = [study_progress(study).fraction]

    def measure(plan: Plan, **_: Any) -> Measurement:
        study.refresh_from_db()
        progress = study_progress(study)
        fractions.append(progress.fraction)
        assert progress.candidate in ("server-default", "mine")
        assert progress.text.startswith(("block 1 of 2: ", "block 2 of 2: "))
        assert progress.eta_s is not None
        return measurement()

    run_to_the_end(study, measure)
    fractions.append(study_progress(study).fraction)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert heartbeat.CANCELLED not in study.stop_request
    assert np.all(np.diff(fractions) >= 0)


def test_a_clock_that_was_set_back_adds_nothing_to_the_time_that_is_left(study: Study) -> None:
    ahead = timezone.now() + timedelta(hours=1)
    Study.objects.filter(pk=study.pk).update(started_at=ahead, preparing_fraction=0.5)
    study.refresh_from_db()
    assert 0 < (study_progress(study).eta_s or -1) < 3000
    run = _begun(study)
    study.refresh_from_db()
    expected = study_progress(study).eta_s
    _abandon(run, started_at=ahead)
    assert study_progress(study).eta_s == expected


def test_a_run_that_was_marked_lost_stops_measuring(study: Study, settings: Any) -> None:
    settings.HEARTBEAT_SECONDS = 0.3
    run = _begun(study)
    asked: list[bool] = []

    def measure(plan: Plan, *, should_stop: Callable[[], bool], **_: Any) -> Measurement:
        Run.objects.filter(pk=run.pk).update(state=RunState.LOST, reason="swept")
        asked.append(is_asked_to_stop(should_stop))
        raise RunFailed(Outcome.CANCELLED, "stopped")

    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert asked == [True]
    assert (run.state, run.reason) == (RunState.LOST, "swept")


def test_a_sweep_asks_the_database_once_for_each_kind_of_job(study: Study) -> None:
    """Hundreds of hosts ask every few seconds; the rest is about the host and its next study."""
    begin(study)
    cancel_study(study)
    for _ in range(CLEARINGS):
        sweep_host(study.host_id)
    with CaptureQueriesContext(connection) as queries:
        sweep_host(study.host_id)
    assert len(queries) <= len(KINDS) + 5
