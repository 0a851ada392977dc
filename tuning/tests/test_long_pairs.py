"""A winner whose write debt was still growing is confirmed in runs that are long enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db.models import F

from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Run
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt
from tuning.comparison.measured import config_results
from tuning.comparison.sides import find_sides
from tuning.models import Recommendation, SlotPurpose, Study
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Observation
from tuning.stored_documents import document_of
from tuning.strategy.confirmation import MAX_PAIR_S, long_enough
from tuning.strategy.protocol import Budget, Group, History, PairTime
from tuning.studies.budget import StudyBudget, places
from tuning.tests.fakes import run_to_the_end
from tuning.tests.test_study_race import EFFECTS, noisy, started

MB = 1_000_000
SETTLES_S = 60


def owing(effects: dict[str, float], fresh: dict[str, float] | None = None) -> Any:
    """As `noisy`, but the runs of all configs end with growing write debt before SETTLES_S."""
    plain = noisy(effects, fresh)

    def measure(plan: Plan, **values: Any) -> Measurement:
        seconds = plan.load.measure_s
        redo, growing = seconds * 10 * MB, seconds < SETTLES_S
        debt = WriteDebt(
            DebtReading(0, 0, 0, 0, 0, 0),
            DebtReading(redo, redo if growing else 0, 0, 0, redo, 100),
            float(seconds),
            redo_capacity_bytes=SETTLES_S * 5 * MB,
        )
        found = plain(plan, **values)
        assert found.metrics is not None
        return replace(
            found, write_debt=debt, metrics=replace(found.metrics, measured_seconds=seconds)
        )

    return measure


def confirmed(study: Study) -> tuple[Recommendation, set[int]]:
    """The recommendation, and the measured seconds of its pairs."""
    pairs = Run.objects.filter(slot__study=study, slot__purpose=SlotPurpose.CONFIRMATION)
    return study.recommendations.get(), set(pairs.values_list("workload__measure_s", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("host_of_fakes", "sent")
@pytest.mark.long
def test_pairs_are_so_long_that_the_debt_stops_growing_and_the_lead_may_go() -> None:
    study = run_to_the_end(
        started(budget_minutes=90, measure_s=10), owing(EFFECTS, fresh={"5000": 1.0})
    )
    found, seconds = confirmed(study)
    assert seconds == {SETTLES_S + 1}
    assert found.confirmation == "withdrawn"
    # What was longer is no part of the place's own run time.
    (place,) = places(study)
    budget = StudyBudget(StudyRows(study)).at(place.key).blocks
    assert budget.run_s is not None
    assert budget.run_s < SETTLES_S
    study = run_to_the_end(started(budget_minutes=90, measure_s=10), owing(EFFECTS))
    found, seconds = confirmed(study)
    assert (found.candidate.name, seconds) == ("fast", {SETTLES_S + 1})
    [answer] = document_of(study).answers
    assert "disk writes were postponed" not in answer.reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("host_of_fakes", "sent")
@pytest.mark.long
def test_comparisons_leave_longer_pairs_out() -> None:
    study = run_to_the_end(started(budget_minutes=90, measure_s=10), owing(EFFECTS))
    winner = study.recommendations.get().candidate
    there = study.slots.filter(candidate=winner, run__state="ok")
    blocks = set(there.filter(purpose=SlotPurpose.BLOCK).values_list("run", flat=True))
    assert there.exclude(run__workload=F("workload")).exists()
    (side,) = find_sides([f"candidate-{winner.pk}"]).sides
    assert {run.pk for run in side.runs} == blocks
    (measured,) = config_results(winner.config)
    assert measured.row.runs == len(blocks)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("host_of_fakes", "sent")
@pytest.mark.long
def test_without_minutes_pairs_stay_short_and_the_recommendation_says_so() -> None:
    study = run_to_the_end(started(measure_s=10), owing(EFFECTS))
    found, seconds = confirmed(study)
    assert (found.candidate.name, seconds) == ("fast", {10})
    [answer] = document_of(study).answers
    assert answer.confidence == "provisional"
    assert "disk writes were postponed until after the runs (runs of about" in answer.reason
    assert "Run again with runs of about" in answer.next_step


def at(time: PairTime | None, **settle_s: float) -> History:
    seen = Observation("a", 1, "ok", 1.0)
    return History(
        seed=1,
        baseline="base",
        candidates=("base", "a"),
        groups=(Group("D0", ("base", "a"), (seen,)),),
        planned_blocks=3,
        budget=Budget(),
        settle_s=settle_s,
        pair_time=time,
    )


@pytest.mark.parametrize(
    ("seconds", "settles_s", "longer"),
    [
        (3000.0, 100.5, 101),  # all that is needed
        (1500.0, 400.0, 140),  # all that fits: 150 s a run, 10 of them not measured
        (3000.0, 12.0, 13),
        (150.0, 400.0, 0),  # no gain worth the name
        (0.0, 400.0, 0),
        (1e9, 1e6, MAX_PAIR_S),
    ],
)
def test_pairs_are_as_long_as_needed_and_as_the_budget_allows(
    seconds: float, settles_s: float, longer: int
) -> None:
    time = PairTime(seconds, measure_s=10, overhead_s=10.0)
    assert long_enough(at(time, a=settles_s), "a", 5) == longer


def test_only_a_winner_with_growing_debt_and_a_budget_has_longer_pairs() -> None:
    time = PairTime(3000.0, measure_s=10, overhead_s=10.0)
    assert long_enough(at(time, b=100.0), "a", 5) == 0
    assert long_enough(at(None, a=100.0), "a", 5) == 0
