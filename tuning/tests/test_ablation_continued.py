"""An ablation, and what comes in between: conclusions, more time, crash tests."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.measurement.crash_test import Recovered
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import CrashTest, JobState, Run, RunState
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt
from tuning.actions.of_studies import ABLATION
from tuning.errors import TuningError
from tuning.models import SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.search import SearchRequest
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.statistics.confirmation import RemovalState
from tuning.stored_documents import document_of
from tuning.studies import budget
from tuning.studies.budget import StudyBudget, places
from tuning.studies.commands import conclude_study, start_ablation
from tuning.studies.scheduler import advance_host
from tuning.tests.export_cases import exported
from tuning.tests.fakes import measurement
from tuning.tests.kept import kept
from tuning.tests.test_ablation import (
    ablated,
    before,
    measuring,
    purposes,
    started,
    with_state,
)
from tuning.tests.test_concluding import until
from tuning.tests.test_search_rows import step, to_the_end
from tuning.tests.work import execute_crash_test, purpose_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]


def test_a_disturbed_run_of_a_variant_is_not_measured_again_after_an_early_conclusion() -> None:
    study = before(SlotPurpose.ABLATION)
    ablation = study.slots.filter(purpose=SlotPurpose.ABLATION)
    until(study, lambda: ablation.filter(run__state=RunState.OK).count() == 2, measuring())
    first, second = ablation.filter(run__state=RunState.OK)
    Run.objects.filter(pk=first.run_id).update(state=RunState.DISTURBED, throughput=None)
    advance_host(study.host_id)
    assert Run.objects.filter(retry_of=first.run_id, state=RunState.QUEUED).exists()
    Run.objects.filter(pk=second.run_id).update(state=RunState.DISTURBED, throughput=None)
    measured = Run.objects.count()
    conclude_study(study)
    study = to_the_end(study, measuring())
    assert study.state == StudyState.FINISHED, study.reason
    assert Run.objects.count() < measured
    for slot in (first, second):
        slot.refresh_from_db()
        assert slot.run.state == RunState.DISTURBED
        assert not slot.run.retry_of_id


# So quiet that three blocks settle everything.
QUIET = measuring(noise=0.002)


def test_lines_for_which_the_time_did_not_suffice_can_be_tested_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        # Three blocks of two parts, and five rounds of the reduced config.
        patch.setattr(budget, "MAX_ABLATION_RUNS", 3 * 4 + 5 * 3)
        study = to_the_end(started(blocks=3), QUIET)
    first = study.recommendations.get()
    assert first.candidate.without == ["innodb_flush_neighbors"]
    (untested,) = with_state(ablated(study), RemovalState.UNTESTED)
    assert untested.names == ("table_open_cache",)
    assert "because there was no time left: table_open_cache. " in first.verdict
    assert f"manage.py study ablation {study.pk}, tests them" in first.verdict
    assert can_be_ablated(study)
    start_ablation(study)
    study = to_the_end(study, QUIET)
    found = study.recommendations.get()
    assert found.candidate.name == "fast reduced"
    assert found.candidate.without == ["innodb_flush_neighbors", "table_open_cache"]
    assert found.whole is not None
    assert "study ablation" not in found.verdict
    rounds = study.slots.filter(purpose=SlotPurpose.REDUCED)
    assert rounds.count() == 2 * 5 * 3
    assert not can_be_ablated(study)
    with pytest.raises(TuningError) as refused:
        start_ablation(study)
    assert refused.value.code == "nothing_left"


def test_a_study_that_is_ablated_later_keeps_its_minutes_and_its_answer_gets_a_new_date() -> None:
    study = started(blocks=6, warmup_s=10, measure_s=10)
    Study.objects.filter(pk=study.pk).update(minutes=6, races=False)
    study = to_the_end(study, QUIET)
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK).count()
    incomplete = "Its 6 minutes were not enough for all: 2 of 6 blocks were measured"
    first = study.recommendations.get()
    assert incomplete in first.verdict
    assert SlotPurpose.ABLATION not in purposes(study)
    start_ablation(study)
    study = to_the_end(study, QUIET)
    again = study.recommendations.get()
    assert (study.minutes, study.has_end) == (6, True)
    assert incomplete in again.verdict
    assert SlotPurpose.ABLATION in purposes(study)
    assert study.slots.filter(purpose=SlotPurpose.BLOCK).count() == blocks
    assert again.created_at > first.created_at


def test_a_search_tests_the_lines_of_its_winner_with_the_time_that_is_left() -> None:
    """With the strategy of the product, from its first round on. No round of a config without the
    lines that contribute nothing fits any more.
    """
    knobs = "innodb_io_capacity", "innodb_lru_scan_depth", "table_open_cache"
    study = started(
        search=SearchRequest(knobs=knobs),
        blocks=None,
        ablates=None,
        recovery=False,
        warmup_s=2,
        measure_s=8,
        budget_minutes=13,
    )
    confirming = study.slots.filter(purpose=SlotPurpose.CONFIRMATION)
    while not confirming.exists():
        assert step(study, QUIET)
    for minutes in range(1, 60):
        Study.objects.filter(pk=study.pk).update(minutes=minutes)
        study.refresh_from_db()
        (place,) = places(study)
        budget = StudyBudget(StudyRows(study)).at(place.key).ablation
        if (budget.runs or 0) >= 15:
            break
    assert (budget.runs or 0) < 24, "three blocks of one part, and five rounds"
    study = to_the_end(study, QUIET)
    assert study.state == StudyState.FINISHED, study.reason
    seen = purposes(study)
    assert SlotPurpose.ABLATION in seen
    assert SlotPurpose.REDUCED not in seen
    ablation, answer = ablated(study), study.recommendations.get()
    (matters,) = with_state(ablation, RemovalState.MATTERS)
    assert "innodb_io_capacity" in matters.names
    assert (answer.candidate_id, answer.whole) == (ablation.whole_id, None)
    assert "what each contributes was not tested" not in answer.verdict


def test_a_reduced_config_owes_what_its_own_rounds_left_to_be_written() -> None:
    owes = WriteDebt(
        DebtReading(0, 0, 0, 0, 0, 0), DebtReading(100, 100, 0, 0, 100, 100), 10.0, 1000
    )

    def measure(plan: Plan, **values: Any) -> Measurement:
        is_late = purpose_of(plan) != SlotPurpose.REDUCED
        return replace(QUIET(plan, **values), write_debt=owes if is_late else None)

    study = to_the_end(started(blocks=3), measure)
    found = study.recommendations.get()
    assert found.candidate.name == "fast reduced"
    assert "postponed until after the measurement" in found.verdict
    postponed = "disk writes were postponed"
    [answer] = document_of(study).answers
    assert postponed not in answer.reason
    late = Run.objects.filter(slot__purpose=SlotPurpose.BLOCK, debt_grew=True).first()
    assert late is not None
    rounds = Run.objects.filter(slot__purpose=SlotPurpose.REDUCED, slot__candidate=found.candidate)
    rounds.update(debt_grew=True, write_debt=late.write_debt)
    study.refresh_from_db()
    study.revision += 1
    [answer] = document_of(study).answers
    assert postponed in answer.reason


def test_lines_of_which_one_suffices_are_kept_and_it_is_said_why() -> None:
    lines = ("innodb_flush_neighbors", "table_open_cache")

    def either(plan: Plan, **_: Any) -> Measurement:
        gain = 0.2 * any(name in plan.options for name in lines)
        return measurement(6000 * math.exp(gain + (plan.load.seed % 7) / 5000))

    config = b"[mysqld]\ninnodb_flush_neighbors = 0\ntable_open_cache = 3000\n"
    study = to_the_end(started(configs=[ConfigText.of("fast", config)], blocks=3), either)
    found = study.recommendations.get()
    assert (found.candidate.name, found.whole) == ("fast", None)
    assert (
        "they are kept: fast without all of them cannot be used: it has the same effective "
        "values as server-default."
    ) in found.verdict
    assert "no time left" not in found.verdict
    assert not can_be_ablated(study)


def can_be_ablated(study: Study) -> bool:
    return not ABLATION.reason_against(study)


def waiting_for_crash_tests() -> Study:
    """All of its runs are done."""
    return kept(
        "ablated, waits for crash tests",
        lambda: to_the_end(started(blocks=3, recovery=True), QUIET),
    )


def crash_tested(study: Study, slow: str) -> list[str]:
    """Whose recovery was timed by the study's end; configs without the line `slow` need longer."""

    def kill(plan: Plan, **_: Any) -> list[Recovered]:
        seconds = 2.0 if slow in plan.options or not plan.options else 9.0
        return [Recovered(seconds, 31_000_000, 5, 100_000_000)] * 3

    waiting = CrashTest.objects.filter(slot__study=study, state=JobState.QUEUED)
    while test := waiting.first():
        assert execute_crash_test(test.pk, kill)
        advance_host(study.host_id)
        to_the_end(study, QUIET)
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED, study.reason
    return [slot.candidate.name for slot in study.crash_slots.order_by("pk")]


def test_the_config_that_is_recommended_is_the_one_whose_recovery_was_timed() -> None:
    study = waiting_for_crash_tests()
    assert crash_tested(study, "innodb_io_capacity") == ["server-default", "fast reduced"]
    result = StudyRows(study)
    (found,) = result.recommendations
    assert found.candidate.name == "fast reduced"
    assert "Killed under load 3 times, fast reduced served again after 2.0 s" in found.verdict
    assert "recovery not timed" not in exported(study)


def test_a_reduced_config_that_misses_the_limit_on_recovery_leaves_the_winner_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = waiting_for_crash_tests()
    monkeypatch.setattr(StudyRows, "aim", Aim(max_recovery_s=5.0))
    tested = crash_tested(study, "table_open_cache")
    assert tested == ["server-default", "fast reduced", "fast"]
    found = study.recommendations.get()
    assert (found.candidate.name, found.whole) == ("fast", None)
    assert "fast reduced (recovery <= 5 s: 9.0 s)" in found.verdict
    assert "fast served again after 2.0 s" in found.verdict
