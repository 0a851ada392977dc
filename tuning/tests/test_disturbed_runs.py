"""Disturbed runs: void, measured again within bounds, counted, and no reason to lose a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.errors import RunFailed
from benchmarks.jobs.runs import plan_for
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Host, Run, RunState
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.disturbance import Disturbance, Kind
from tuning.creation.create import create_study
from tuning.models import Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.study import StudyRequest
from tuning.results.boards import boards_of
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.studies.budget import StudyBudget, places
from tuning.studies.commands import cancel_study, resume_study
from tuning.studies.scheduler import EXECUTE, advance_host
from tuning.tests import fakes
from tuning.tests.fakes import begin, measure_by_config, measurement, run_to_the_end
from tuning.tests.work import execute_run, prepare_study

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(host_of_fakes: None, sent: list[Any]) -> Study:
    """Two blocks, no race and no confirmation: six runs, three in a block."""
    request = StudyRequest(
        template="compare", configs=[fakes.MINE], blocks=2, races=False, confirms=False
    )
    return create_study(request)


TEXT = "other programs used 34.0 % of the host's CPU time (limit 10 %), most by make (30.0 %)"
CONDITIONS = {"foreign_cpu_pct": 34.0, "unwatched": ["throttling: not reported by this host"]}


def disturbed() -> Measurement:
    return Measurement(
        outcome=Outcome.DISTURBED,
        reason=TEXT,
        disturbances=[Disturbance(Kind.FOREIGN_CPU, 34.0, 10.0, "%", TEXT)],
        conditions=CONDITIONS,
        samples=[{"second": 0, "completed": 50}, {"second": 1, "completed": 20}],
        variables={"innodb_io_capacity": "5000"},
        fingerprint={"cpu_model": "any"},
        comparability_key="k",
        driver_version="1",
        step_seconds={"measuring": 1.0},
    )


def disturb(when: Callable[[Plan], bool]) -> Callable[..., Measurement]:
    def measure(plan: Plan, **_: Any) -> Measurement:
        if when(plan):
            return disturbed()
        return measure_by_config(plan)

    return measure


def first(count: int) -> Callable[[Plan], bool]:
    """True for the first `count` runs of the candidate."""
    left: Iterator[int] = iter(range(count))
    return lambda plan: bool(plan.options) and next(left, None) is not None


def test_a_disturbed_run_keeps_what_was_seen_and_gets_no_figure(study: Study) -> None:
    begin(study)
    run = study.slots.order_by("order")[0].run
    execute_run(run.pk, measure=disturb(lambda _: True))
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.DISTURBED, TEXT)
    assert run.disturbances == [
        {"kind": "foreign_cpu", "value": 34.0, "limit": 10.0, "unit": "%", "text": TEXT}
    ]
    assert run.conditions["foreign_cpu_pct"] == 34.0
    assert [sample.completed for sample in run.samples.all()] == [50, 20]
    assert run.variables == {"innodb_io_capacity": "5000"}
    assert (run.throughput, run.p95_ms, run.server_path_length, run.completed) == (None,) * 4


@pytest.mark.parametrize("ends_well", [True, False])
def test_no_ended_run_keeps_the_seconds_of_those_who_watched(
    study: Study, ends_well: bool
) -> None:
    begin(study)
    run = study.slots.order_by("order")[0].run

    def measure(plan: Plan, **_: Any) -> Measurement:
        Run.objects.filter(pk=run.pk).update(live=[[0, 100.0, 12.5, 50.0]])
        if ends_well:
            return measure_by_config(plan)
        return disturbed()

    execute_run(run.pk, measure=measure)
    run.refresh_from_db()
    assert run.is_finished
    assert run.live is None


def test_it_is_measured_again_after_the_others_of_its_block(study: Study, sent: list[Any]) -> None:
    Study.objects.filter(pk=study.pk).update(applied={"wait_timeout": "60"})
    begin(study)
    first, second, third = study.slots.order_by("order")
    execute_run(first.run_id, measure=disturb(lambda _: True))
    advance_host(study.host_id)
    assert sent[-1][:2] == (EXECUTE, second.run_id)
    execute_run(second.run_id, measure=measure_by_config)
    advance_host(study.host_id)
    assert sent[-1][:2] == (EXECUTE, third.run_id)
    execute_run(third.run_id, measure=measure_by_config)
    advance_host(study.host_id)
    advance_host(study.host_id)  # safe to repeat
    retry = first.run.retries.get()
    assert (retry.config, retry.applied) == (first.run.config, {"wait_timeout": "60"})
    first.refresh_from_db()
    assert first.run == retry  # in its place of the block
    assert sent[-1][:2] == (EXECUTE, retry.pk)
    execute_run(retry.pk, measure=measure_by_config)
    advance_host(study.host_id)
    assert study.slots.get(run_id=sent[-1][1]).block == 2


@pytest.mark.parametrize(
    ("times", "without_figure", "runs", "said"),
    [(2, 0, [2, 4], ": 2 measured again."), (3, 1, [1, 4], "2 measured again and 1 left out.")],
)
def test_it_is_measured_again_at_most_twice_and_the_verdict_counts_that(
    study: Study, times: int, without_figure: int, runs: list[int], said: str
) -> None:
    run_to_the_end(study, disturb(first(times)))
    assert study.state == StudyState.FINISHED
    assert Run.objects.filter(state=RunState.DISTURBED).count() == times
    (board,) = boards_of(StudyRows(study))
    assert sorted(row.runs for row in board.judgement.ranked) == runs
    quality = build(StudyRows(study)).quality
    assert (quality.disturbed, quality.without_figure) == (times, without_figure)
    assert quality.kinds == {"foreign_cpu": times}
    verdict = study.recommendations.get().verdict
    assert f"{times} runs were disturbed by CPU use of other programs: " in verdict
    assert said in verdict


def test_the_bound_of_disturbed_runs_is_their_own(study: Study, settings: Any) -> None:
    settings.DISTURBED_RUN_RETRIES = 1
    begin(study)
    run = study.slots.order_by("order")[0].run
    for state in (RunState.LOST, RunState.DISTURBED, RunState.CANCELLED):
        Run.objects.filter(pk=run.pk).update(state=state)
        advance_host(study.host_id)
        run = run.retries.get()
    Run.objects.filter(pk=run.pk).update(state=RunState.DISTURBED)
    advance_host(study.host_id)
    assert not run.retries.exists()


def test_a_full_disk_pauses_the_study_until_there_is_room(study: Study, sent: list[Any]) -> None:
    def full(plan: Plan, **_: Any) -> Measurement:
        raise RunFailed(Outcome.DISK_FULL, "/srv: 1.0 GiB free on its file system")

    begin(study)
    slot = study.slots.order_by("order")[0]
    for other in study.slots.order_by("order")[1:]:
        execute_run(other.run_id, measure=measure_by_config)
    execute_run(slot.run_id, measure=full)
    advance_host(study.host_id)
    study.refresh_from_db()
    assert (study.state, study.paused_by) == (StudyState.RUNNING, "the advisor")
    assert study.pause_reason == "/srv: 1.0 GiB free on its file system"
    first, again = slot.run, slot.run.retries.get()
    first.refresh_from_db()
    assert (first.state, first.throughput) == (RunState.DISK_FULL, None)
    sent.clear()
    advance_host(study.host_id)
    assert sent == []
    resume_study(study)
    assert sent[-1][:2] == (EXECUTE, again.pk)
    # The second time in a row it is held against the config, and the study goes on.
    execute_run(again.pk, measure=full)
    advance_host(study.host_id)
    study.refresh_from_db()
    assert not study.is_paused
    assert not again.retries.exists()
    assert sent[-1][1] != again.pk


def test_a_study_whose_baseline_was_always_disturbed_says_by_what(study: Study) -> None:
    run_to_the_end(study, disturb(lambda plan: not plan.options))
    assert (study.state, study.reason_code) == (StudyState.FAILED, "disturbed")
    assert TEXT in study.reason
    assert "docs/reference/settings.md" in study.reason


def test_a_host_that_is_never_quiet_does_not_take_three_times_as_long(study: Study) -> None:
    run_to_the_end(study, disturb(lambda _: True))
    assert (study.state, study.reason_code) == (StudyState.FAILED, "disturbed")
    # 3 of the first slot and of the second, then one of each other slot
    assert Run.objects.filter(state=RunState.DISTURBED).count() == 3 + 3 + 1 + 1 + 1 + 1


def test_a_cancelled_study_measures_nothing_again(study: Study) -> None:
    begin(study)
    slot = study.slots.order_by("order")[0]
    execute_run(slot.run_id, measure=disturb(lambda _: True))
    cancel_study(study)
    advance_host(study.host_id)
    assert not slot.run.retries.exists()


def test_runs_that_were_still_warming_count_and_are_named(study: Study) -> None:
    def measure(plan: Plan, **_: Any) -> Measurement:
        found = measure_by_config(plan)
        object.__setattr__(found, "trend_pct", 31.5)
        object.__setattr__(found, "still_warming", bool(plan.options))
        return found

    run_to_the_end(study, measure)
    assert build(StudyRows(study)).quality.still_warming == 2
    assert "2 runs were still warming up." in study.recommendations.get().verdict
    assert Run.objects.filter(still_warming=True, trend_pct=31.5).count() == 2


def test_checks_that_are_off_are_said(study: Study, settings: Any) -> None:
    settings.STEAL_LIMIT_PCT = 0.0
    begin(study)
    assert plan_for(study.slots.all()[0].run, "run-1").limits.steal_pct == 0

    def measure(plan: Plan, **_: Any) -> Measurement:
        found = measure_by_config(plan)
        found.conditions["unwatched"] = ["steal: switched off", "throttling: does not tell"]
        return found

    run_to_the_end(study, measure)
    verdict = study.recommendations.get().verdict
    assert verdict.endswith("Not monitored, because switched off: steal.")


def test_a_host_with_usual_steal_time_is_no_disturbed_one(
    study: Study, sent: list[Any], settings: Any
) -> None:
    """A neighbour takes 6 to 8 % all the time: the first runs are void, then that is known."""
    taken = iter([6.0, 8.0] * 20)

    def measure(plan: Plan, **_: Any) -> Measurement:
        steal_pct = next(taken)
        if steal_pct > plan.limits.steal_pct:
            stolen = Disturbance(Kind.STEAL, steal_pct, plan.limits.steal_pct, "%", "stolen")
            seen: dict[str, object] = {"steal_pct": steal_pct}
            return replace(disturbed(), disturbances=[stolen], conditions=seen)
        found = measure_by_config(plan)
        found.conditions["steal_pct"] = steal_pct
        assert found.metrics is not None
        return replace(found, metrics=replace(found.metrics, cpu_steal_pct=steal_pct))

    begin(study)
    for _ in range(9):  # in the scheduler's order: a retry waits for the others of its block
        execute_run(sent[-1][1], measure=measure)
        advance_host(study.host_id)
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED, study.reason
    assert Run.objects.filter(state=RunState.DISTURBED).count() == 3
    verdict = study.recommendations.get().verdict
    assert "3 runs were disturbed by steal time of the hypervisor: 3 measured again." in verdict
    assert (
        "In 6 counted runs the hypervisor took up to 8.0 % of the CPU time, as is usual on this "
        "host."
    ) in verdict

    newest = study.slots.order_by("order")[0].run
    assert plan_for(newest, "run-1").limits.steal_pct == 11.0  # 5 % more than the median
    assert plan_for(newest, "run-1").limits.load_steal_pct == 5.0
    elsewhere = Host.objects.create(name="elsewhere")
    Run.objects.update(host=elsewhere)
    assert plan_for(newest, "run-1").limits.steal_pct == 5.0
    settings.STEAL_LIMIT_PCT = 0.0
    Run.objects.update(host=newest.host)
    assert plan_for(newest, "run-1").limits.steal_pct == 0.0


def test_the_ranking_is_of_the_kind_of_runs_that_has_a_baseline(study: Study) -> None:
    """Of 6 runs 3 share a key each, but in no block with the baseline."""
    keys = {False: iter("xxyy"), True: iter("yx")}
    found: list[str] = []

    def measure(plan: Plan, **_: Any) -> Measurement:
        key = next(keys[bool(plan.options)])
        found.append(key)
        return measurement(7200.0 if plan.options else 6000.0, key=key)

    run_to_the_end(study, measure)
    (board,) = boards_of(StudyRows(study))
    assert sorted(found) == ["x", "x", "x", "y", "y", "y"]
    assert len(board.excluded) == 3
    # Nothing was compared: the runs of a block were never of one kind.
    assert [row.name for row in board.judgement.ranked if row.blocks] == ["server-default"]


def test_a_majority_without_a_baseline_does_not_take_the_ranking(
    host_of_fakes: None, sent: list[Any]
) -> None:
    other = ConfigText.of("other", b"[mysqld]\ninnodb_io_capacity = 6000\n")
    request = StudyRequest(template="compare", configs=[fakes.MINE, other], blocks=2, races=False)
    study = create_study(request)

    def measure(plan: Plan, **_: Any) -> Measurement:
        return measurement(key="binlog off" if plan.options else "binlog on")

    run_to_the_end(study, measure)
    assert study.state == StudyState.FINISHED
    (board,) = boards_of(StudyRows(study))
    assert len(board.excluded) == 4
    assert {row.name: row.runs for row in board.judgement.ranked} == {
        "server-default": 4,
        "mine": 0,
        "other": 0,
    }


KILLED = "the server was ended by SIGKILL, which we did not send"


def test_a_run_ended_from_outside_is_measured_again_and_counts_against_no_config(
    study: Study,
) -> None:
    killed = first(1)

    def measure(plan: Plan, **_: Any) -> Measurement:
        if killed(plan):
            raise RunFailed(Outcome.LOST, KILLED, log_tail="ready for connections")
        return measure_by_config(plan)

    run_to_the_end(study, measure)
    assert study.state == StudyState.FINISHED
    lost = Run.objects.get(state=RunState.LOST)
    assert (lost.reason, lost.log_tail) == (KILLED, "ready for connections")
    assert lost.retries.get().state == RunState.OK
    (board,) = boards_of(StudyRows(study))
    assert [(row.runs, row.outcome) for row in board.judgement.ranked] == [(2, "ok"), (4, "ok")]


def test_a_preparation_whose_server_was_ended_from_outside_starts_again_a_few_times(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise RunFailed(Outcome.LOST, KILLED)

    monkeypatch.setattr("tuning.studies.preparation.ensure_dataset", load)
    assert prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.claimed_by) == (StudyState.PREPARING, "")
    assert prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "lost")
    assert KILLED in study.reason


def test_what_was_measured_again_counts_for_the_minutes(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(budget_minutes=60, minutes=60)
    study.refresh_from_db()
    begin(study)
    (place,) = places(study)

    def spent() -> tuple[float, float]:
        forecast = StudyBudget(StudyRows(study))
        apart = forecast.at(place.key).ablation.seconds_left
        blocks = forecast.at(place.key).blocks.seconds_left
        assert apart is not None
        assert blocks is not None
        return apart, blocks

    before = spent()
    run_s = StudyBudget(StudyRows(study)).at(place.key).blocks.run_s
    assert run_s is not None
    for number in (1, 2):
        run = Run.objects.filter(slot__study=study, state=RunState.QUEUED).latest("pk")
        execute_run(run.pk, measure=disturb(lambda _: True))
        advance_host(study.host_id)
        assert before == pytest.approx([left + number * run_s for left in spent()])
