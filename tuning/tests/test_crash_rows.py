"""The crash tests of a study: who is tested, when, what rules a config out, what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.errors import RunFailed
from benchmarks.jobs.sweep import clear_leftovers
from benchmarks.measurement.crash_test import Recovered
from benchmarks.measurement.plan import Plan
from benchmarks.models import CrashTest, Host, JobState
from benchmarks.outcomes import Outcome
from tuning.creation import create
from tuning.creation.plan import plan_of
from tuning.errors import BadRequest
from tuning.models import Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.search import SearchRequest
from tuning.requests.study import StudyRequest
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.studies.budget import StudyBudget
from tuning.studies.commands import cancel_study, pause_study, resume_study
from tuning.studies.crash_tests import load_seconds
from tuning.studies.jobs import StudyCrashTestKind
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import CRASH_TEST, advance_host, is_under_way
from tuning.tests.export_cases import exported
from tuning.tests.fakes import run_to_the_end
from tuning.tests.kept import kept
from tuning.tests.test_study_race import cnf, noisy, started
from tuning.tests.work import execute_crash_test, execute_run, next_run

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

MB = 1_000_000
EFFECTS = {"5000": 1.2, "4000": 1.1}


def recovering(seconds: dict[str, float]) -> Callable[..., list[Recovered]]:
    """Each config needs these seconds by its innodb_io_capacity, else 2."""

    def kill(plan: Plan, **_: Any) -> list[Recovered]:
        needs = seconds.get(str(plan.options.get("innodb_io_capacity", "")), 2.0)
        return [Recovered(needs + more, 31 * MB, 5, 100 * MB) for more in (0.0, 0.5, 0.2)]

    return kill


def measured(**values: Any) -> Study:
    """A study whose runs are done and whose first crash test, if any, is queued."""
    configs = [ConfigText.of("fast", cnf(5000)), ConfigText.of("second", cnf(4000))]
    asked = {"configs": configs, "recovery": True} | values
    name = f"measured, waiting for crash tests {values}"
    return kept(name, lambda: run_to_the_end(started(**asked), noisy(EFFECTS)))


def soon_measured() -> Study:
    """The same after few runs: three blocks without a race and fresh pairs."""
    return measured(blocks=3, races=False, confirms=False)


def queued(study: Study) -> CrashTest | None:
    return CrashTest.objects.filter(slot__study=study, state=JobState.QUEUED).first()


def to_the_end(study: Study, kill: Callable[..., list[Recovered]]) -> Study:
    while test := queued(study):
        assert execute_crash_test(test.pk, kill)
        advance_host(study.host_id)
        run_to_the_end_of_runs(study)
    study.refresh_from_db()
    return study


def run_to_the_end_of_runs(study: Study) -> None:
    while run := next_run(study):
        execute_run(run, measure=noisy(EFFECTS))
        advance_host(study.host_id)


def candidates_of_tests(study: Study) -> list[str]:
    return [slot.candidate.name for slot in study.crash_slots.order_by("id")]


def test_baseline_and_winner_are_killed_after_the_confirmation_and_it_is_said(
    sent: list[Any],
) -> None:
    study = measured()
    sent.clear()
    assert study.state == StudyState.RUNNING
    assert not study.recommendations.exists()
    test = queued(study)
    assert test is not None
    advance_host(study.host_id)
    assert sent == [(CRASH_TEST, test.pk, study.host.queue)]
    assert test.load_s >= 30
    study = to_the_end(study, recovering({"5000": 7.0}))
    assert study.state == StudyState.FINISHED, study.reason
    assert candidates_of_tests(study) == ["server-default", "fast"]
    found = study.recommendations.get()
    assert found.candidate.name == "fast"
    assert (
        "Killed under load 3 times, fast served again after 7.0 to 7.5 s, with up to 31 MB of "
        "redo to apply of 100 MB that its log holds. Killed under load 3 times, server-default "
        "served again after 2.0 to 2.5 s"
    ) in found.verdict
    document = json.loads(exported(study, "json"))
    assert "served again after 7.0 to 7.5 s" in document["recommendation"]["sentence"]
    assert "crash recovery times" not in str(document["not_tested"])


def test_without_crash_tests_the_file_says_that_recovery_was_not_tested() -> None:
    study = measured(recovery=None)
    assert study.state == StudyState.FINISHED
    assert not CrashTest.objects.exists()
    assert "crash recovery times" in exported(study, "json")


@pytest.mark.parametrize("search", [SearchRequest(), None])
def test_only_a_search_has_crash_tests_unless_it_is_told(search: SearchRequest | None) -> None:
    usual = search is not None
    for asked, does in ((None, usual), (not usual, not usual)):
        request = StudyRequest(template="compare", search=search, recovery=asked)
        assert plan_of(request).request.recovery is does


def test_a_limit_without_crash_tests_is_refused() -> None:
    search = SearchRequest(keep={"recovery": 60.0})
    with pytest.raises(BadRequest) as refused:
        plan_of(StudyRequest(search=search, recovery=False))
    assert refused.value.field == "recovery"


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The studies of the test have a limit of 5 s, as only a search can ask for it."""
    monkeypatch.setattr(StudyRows, "aim", Aim(max_recovery_s=5.0))


@pytest.mark.usefixtures("limited")
def test_a_winner_that_misses_the_limit_makes_way_for_the_next() -> None:
    study = to_the_end(measured(), recovering({"5000": 4.6}))
    found = study.recommendations.get()
    assert candidates_of_tests(study) == ["server-default", "fast", "second"]
    assert found.candidate.name == "second"
    assert (
        "Not considered because of missed limits: fast (recovery <= 5 s: 5.1 s)" in found.verdict
    )


@pytest.mark.usefixtures("limited")
def test_where_nothing_keeps_the_limit_the_baseline_stays_and_it_is_said() -> None:
    study = to_the_end(measured(), recovering({"": 9.0, "5000": 9.0, "4000": 9.0}))
    found = study.recommendations.get()
    assert found.candidate.is_baseline
    assert "server-default itself misses recovery <= 5 s: 9.5 s" in found.verdict


def test_a_server_that_does_not_come_back_is_never_recommended() -> None:
    def kill(plan: Plan, **values: Any) -> list[Recovered]:
        if plan.options.get("innodb_io_capacity") == "5000":
            raise RunFailed(Outcome.TIMED_OUT, "did not answer within 600 s", log_tail="[ERROR]")
        return recovering({})(plan, **values)

    study = to_the_end(measured(), kill)
    test = CrashTest.objects.get(state=JobState.FAILED)
    assert (test.reason_code, test.log_tail) == ("timed_out", "[ERROR]")
    found = study.recommendations.get()
    assert found.candidate.name == "second"
    assert "fast (after a kill under load: did not answer within 600 s)" in found.verdict


def test_a_test_that_could_not_be_made_rules_nothing_out() -> None:
    def kill(plan: Plan, **_: Any) -> list[Recovered]:
        raise RunFailed(Outcome.DRIVER_FAILED, "no driver")

    found = to_the_end(measured(), kill).recommendations.get()
    assert found.candidate.name == "fast"
    assert "The crash recovery of fast could not be timed: no driver." in found.verdict


def test_a_lost_test_is_made_again_once_and_one_of_a_stopped_worker_always(settings: Any) -> None:
    settings.LOST_RUN_RETRIES = 1
    study = soon_measured()

    def die(plan: Plan, **_: Any) -> list[Recovered]:
        raise RunFailed(Outcome.LOST, "the server was killed")

    seen = []
    for _ in range(3):
        test = queued(study)
        assert test is not None
        CrashTest.objects.filter(pk=test.pk).update(state=JobState.CANCELLED)
        advance_host(study.host_id)
        again = queued(study)
        assert again is not None
        assert again.pk != test.pk
        assert execute_crash_test(again.pk, die)
        seen.append(again.pk)
        advance_host(study.host_id)
        if len(study.crash_slots.all()) > 1:
            break
    assert len(seen) == 2, "the baseline was lost twice, then comes the winner"
    study = to_the_end(study, recovering({}))
    assert study.state == StudyState.FINISHED
    assert "could not be timed: the server was killed" in study.recommendations.get().verdict


def test_a_pause_keeps_a_queued_test_from_starting() -> None:
    study = soon_measured()
    test = queued(study)
    assert test is not None
    pause_study(study)
    kind = StudyCrashTestKind()
    assert not kind.rows.filter(kind.waiting, pk=test.pk).exists()
    resume_study(study)
    assert kind.rows.filter(kind.waiting, pk=test.pk).exists()


def test_the_time_left_counts_the_crash_tests_before_and_while_they_are_made() -> None:
    study = started(
        configs=[ConfigText.of("fast", cnf(5000)), ConfigText.of("second", cnf(4000))],
        recovery=True,
        blocks=3,
        races=False,
        confirms=False,
    )
    before = StudyBudget(StudyRows(study))
    load_s = load_seconds(study.workloads.get())
    assert before.crash_tests.left == 2
    assert before.crash_tests.each_s > 3 * load_s
    study = run_to_the_end(study, noisy(EFFECTS))
    test = queued(study)
    assert test is not None
    progress = study_progress(study)
    assert progress.eta_s == pytest.approx(2 * before.crash_tests.each_s)
    assert progress.runs_total == progress.runs_done
    assert progress.fraction < 1
    began = timezone.now() - timedelta(seconds=45)
    tests = CrashTest.objects.filter(pk=test.pk)
    tests.update(state=JobState.RUNNING, step="recovering, 1 of 3", started_at=began)
    running = study_progress(study)
    assert running.text == "crash recovery: server-default, recovering, 1 of 3"
    assert running.eta_s == pytest.approx(2 * before.crash_tests.each_s - 45, abs=15)
    tests.update(state=JobState.OK, finished_at=began + timedelta(seconds=40))
    advance_host(study.host_id)
    assert queued(study) is not None
    second = study_progress(study)
    assert second.eta_s == pytest.approx(40), "as long as the first"
    assert second.fraction > progress.fraction
    Study.objects.filter(pk=study.pk).update(concluded_at=timezone.now())
    study.refresh_from_db()
    assert StudyBudget(StudyRows(study)).crash_tests.left == 0


def test_cancelling_ends_queued_tests_and_stops_the_running_one() -> None:
    study = soon_measured()
    test = queued(study)
    assert test is not None
    CrashTest.objects.filter(pk=test.pk).update(
        state=JobState.RUNNING, step="recovering", heartbeat_at=Now()
    )
    assert is_under_way(study)
    assert "recovering" in study_progress(study).text
    Host.objects.update(worker_seen_at=Now())  # it lives, and will hear of it
    cancel_study(study)
    test.refresh_from_db()
    assert test.stop_request == "cancelled"
    CrashTest.objects.filter(pk=test.pk).update(state=JobState.QUEUED)
    advance_host(study.host_id)
    test.refresh_from_db()
    study.refresh_from_db()
    assert (study.state, test.state) == (StudyState.CANCELLED, JobState.CANCELLED)


def test_a_queued_test_of_a_cancelled_study_cannot_be_claimed_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = soon_measured()
    test = queued(study)
    assert test is not None
    # The worker is faster than what closes the study.
    monkeypatch.setattr(create, "advance_host", lambda _: None)
    cancel_study(study)
    assert not execute_crash_test(test.pk, recovering({}))
    test.refresh_from_db()
    assert (test.state, test.reason) == (JobState.CANCELLED, "cancelled by the user")


def test_the_folder_of_a_dead_crash_test_is_deleted(tmp_path: Path) -> None:
    study = soon_measured()
    test = queued(study)
    assert test is not None
    folder = test.device.layout.run_dir(f"crash-test-{test.pk}")
    folder.mkdir(parents=True)
    # Where others can put links in its place nothing is deleted by its name.
    test.device.layout.root.chmod(0o777)
    assert clear_leftovers(study.host_id) == []
    assert folder.exists()
    test.device.layout.root.chmod(0o755)
    assert f"deleted {folder}" in clear_leftovers(study.host_id)
    assert not folder.exists()
