"""Runs that are too slow: which of them are cut short, and the effect of their bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Run, RunState
from benchmarks.outcomes import Cut, Outcome
from tuning.models import SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.results.boards import boards_of
from tuning.results.study_rows import StudyRows
from tuning.studies.budget import StudyBudget, places
from tuning.studies.jobs import cut_rule_of
from tuning.tests.fakes import run_to_the_end
from tuning.tests.test_study_race import BASE, EFFECTS, cnf, noisy, started

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]

Measure = Callable[..., Measurement]
SECONDS = 12
# Commits and New-Orders of each second as recorded: sysbench with 8 connections on MySQL 9.7.
COMMITS = [657, 658, 650, 663, 655, 637, 658, 649, 651, 660, 655, 648]
NEW_ORDERS = [207, 205, 207, 207, 207, 204, 206, 204, 205, 207, 206, 204]
# The same with a config that lets in one transaction at a time.
CRAWLING = [82, 77, 79, 85, 80, 76, 81, 79, 80, 83, 78, 80]


def samples(factor: float) -> list[dict[str, float | int | None]]:
    return [
        {
            "second": n,
            "commits": round(COMMITS[n] * factor),
            "completed": round(NEW_ORDERS[n] * factor),
        }
        for n in range(SECONDS)
    ]


def counted(inner: Measure, asked: list[Plan] | None = None) -> Measure:
    """As `inner` measures, with live counts: a run with a rule is judged by it each second."""

    def measure(plan: Plan, **_: Any) -> Measurement:
        found = inner(plan)
        assert found.metrics is not None
        factor = found.metrics.throughput / BASE
        rows = samples(factor)
        if plan.cut_rule is not None:
            if asked is not None:
                asked.append(plan)
            for n in range(1, SECONDS + 1):
                too_slow = plan.cut_rule([int(row["commits"] or 0) for row in rows[:n]])
                if too_slow is not None:
                    return cut(too_slow, rows[:n])
        return replace(found, samples=rows)

    return measure


def cut(too_slow: Cut, rows: list[dict[str, float | int | None]]) -> Measurement:
    return Measurement(
        outcome=Outcome.CUT_SHORT,
        reason=too_slow.reason,
        throughput_at_most=too_slow.throughput_at_most,
        samples=[row | {"completed": None} for row in rows],
        variables={"innodb_io_capacity": "300"},
        fingerprint={"cpu_model": "any"},
        comparability_key="k",
        driver_version="1",
        step_seconds={"measuring": 5.0},
    )


CRAWLS = EFFECTS | {"300": 0.12}


def test_a_candidate_cut_short_in_two_blocks_leaves_and_is_ranked_by_its_bound() -> None:
    study = run_to_the_end(started(blocks=4), counted(noisy(CRAWLS)))
    assert study.state == StudyState.FINISHED, study.reason
    left = study.eliminations.get(candidate__name="slow")
    assert left.reason == "cut short in 2 blocks"
    cut = Run.objects.filter(slot__study=study, state=RunState.CUT_SHORT)
    assert {run.slot.candidate.name for run in cut} == {"slow"}
    # In the first block it may have been measured before the baseline: then to its end.
    assert 2 <= cut.count() <= study.slots.filter(candidate__name="slow").count() <= 3
    assert not Run.objects.filter(retry_of__in=cut).exists()
    _keeps_what_was_seen_and_has_a_bound_for_a_figure(study)
    _is_ranked_by_its_bound_and_counts_no_failure(study)


def _keeps_what_was_seen_and_has_a_bound_for_a_figure(study: Study) -> None:
    run = Run.objects.filter(slot__study=study, state=RunState.CUT_SHORT).order_by("-pk")[0]
    # Of the baseline's runs before it: those of its block, else those of the block before.
    before = study.slots.filter(candidate__is_baseline=True, order__lt=run.slot.order)
    newest = max(slot.block for slot in before)
    best = max(slot.run.throughput or 0.0 for slot in before.filter(block=newest))
    assert run.throughput_at_most == 0.5 * best
    assert (run.throughput, run.p95_ms, run.completed) == (None, None, None)
    assert run.reason == "12 % of the baseline's throughput after 5 s"
    assert [sample.second for sample in run.samples.all()] == [0, 1, 2, 3, 4]
    assert all(sample.commits for sample in run.samples.all())
    assert run.comparability_key == "k"


def _is_ranked_by_its_bound_and_counts_no_failure(study: Study) -> None:
    (board,) = boards_of(StudyRows(study))
    line = next(row for row in board.judgement.ranked if row.name == "slow")
    assert line.at_most == pytest.approx(0.5, rel=0.05)
    assert (line.estimate, line.failures) == (None, 0)
    assert line.cut_short == 2
    assert board.failed == []
    assert line.worse
    found = study.recommendations.get()
    assert (found.candidate.name, found.confirmation) == ("fast", "confirmed")
    assert "Not considered" not in found.verdict


def test_one_that_was_cut_short_is_never_recommended() -> None:
    """Not even where its other runs look best."""
    left = iter([True])

    def once(plan: Plan, **_: Any) -> Measurement:
        inner = noisy({"5000": 1.2, "9000": 2.0})
        if plan.options.get("innodb_io_capacity") == "9000" and plan.cut_rule and next(left, None):
            inner = noisy({"9000": 0.1})
        return counted(inner)(plan)

    configs = [ConfigText.of("fast", cnf(5000)), ConfigText.of("moody", cnf(9000))]
    study = run_to_the_end(started(configs=configs, blocks=5), once)
    assert Run.objects.filter(slot__study=study, state=RunState.CUT_SHORT).count() == 1
    assert Run.objects.filter(slot__study=study, throughput__gt=1.5 * BASE).exists()
    assert study.recommendations.get().candidate.name == "fast"


def test_only_candidates_in_the_blocks_of_a_race_are_judged() -> None:
    asked: list[Plan] = []
    study = run_to_the_end(started(blocks=4), counted(noisy(EFFECTS), asked))
    pks = {int(plan.name.removeprefix("run-")) for plan in asked}
    judged = list(study.slots.filter(run__in=pks).select_related("candidate"))
    assert {slot.purpose for slot in judged} == {SlotPurpose.BLOCK}
    assert not any(slot.candidate.is_baseline for slot in judged)
    later = study.slots.filter(
        purpose=SlotPurpose.BLOCK, block__gt=1, candidate__is_baseline=False
    )
    assert {slot.run_id for slot in later} <= pks
    assert study.slots.filter(purpose=SlotPurpose.CONFIRMATION).exists()
    _recorded_counts_are_judged_against_the_baselines_of_the_block(study)


def _recorded_counts_are_judged_against_the_baselines_of_the_block(study: Study) -> None:
    there = study.slots.filter(block=3)
    rule = cut_rule_of(there.get(candidate__name="fast").run)
    assert rule is not None
    assert rule(CRAWLING[:4]) is None
    cut = rule(CRAWLING[:5])
    assert cut is not None
    assert cut.reason.startswith("12 %")
    baselines = there.filter(candidate__is_baseline=True)
    assert cut.throughput_at_most == 0.5 * max(slot.run.throughput or 0.0 for slot in baselines)
    assert rule(COMMITS) is None
    assert rule([count // 2 + 5 for count in COMMITS]) is None
    stalled = rule([400, 300, 0, 0, 0, 0, 0])
    assert stalled is not None
    assert stalled.reason == "stalled for 5 s"


def test_without_a_race_every_run_is_measured_to_its_end() -> None:
    asked: list[Plan] = []
    study = started(races=False, confirms=False, blocks=3)
    run_to_the_end(study, counted(noisy(CRAWLS), asked))
    assert asked == []
    assert set(study.slots.values_list("run__state", flat=True)) == {RunState.OK}


def test_without_counts_of_the_baseline_nothing_is_cut_short() -> None:
    study = run_to_the_end(started(blocks=3), noisy(CRAWLS))
    assert not Run.objects.filter(slot__study=study, state=RunState.CUT_SHORT).exists()
    run = study.slots.filter(candidate__name="slow", block=2).get().run
    assert cut_rule_of(run) is None


def test_what_a_cut_run_saved_is_left_of_a_budget_in_minutes() -> None:
    study = started(budget_minutes=30, configs=[ConfigText.of("slow", cnf(300))])
    run_to_the_end(study, counted(noisy({"300": 0.9})))
    workload = study.workloads.get()

    def left(state: RunState) -> float:
        rows = StudyRows(study)
        rows.slots = slots = [slot for slot in rows.slots if slot.block == 1]
        at = next(at for at, slot in enumerate(slots) if slot.name != "server-default")
        run = slots[at].run.model_copy(update={"state": state})
        slots[at] = slots[at]._replace(run=run)
        found = StudyBudget(rows).at(places(study)[0].key).blocks
        assert found.seconds_left is not None
        return found.seconds_left

    # The fakes take no time: a whole run is left.
    run_s = workload.warmup_s + workload.measure_s
    assert left(RunState.CUT_SHORT) - left(RunState.OK) == pytest.approx(run_s, abs=1)
