"""A look at a study differs when what is shown of it does, and only then."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.models import Run, RunState
from tuning.models import Slot, Study, StudyGroup, StudyState
from tuning.studies import glance as module
from tuning.studies.glance import glance, group_glances, results_glance
from tuning.tests.fakes import begin
from tuning.tests.test_study_lifecycle import study as lifecycle_study

__all__ = ["study"]
pytestmark = pytest.mark.django_db(transaction=True)
study = lifecycle_study


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Stands still unless a test moves it."""
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def first(study: Study) -> Slot:
    return study.slots.order_by("order")[0]


def runs(**values: object) -> Callable[[Study], object]:
    return lambda study: Run.objects.filter(pk=first(study).run_id).update(**values)


def of_study(**values: object) -> Callable[[Study], object]:
    return lambda study: Study.objects.filter(pk=study.pk).update(**values)


def measure_again(study: Study) -> None:
    slot = first(study)
    run = Run.objects.get(pk=slot.run_id)
    run.pk, run.retry_of_id = None, slot.run_id
    run.save()
    Slot.objects.filter(pk=slot.pk).update(run=run)


def test_it_differs_after_each_change(study: Study, clock: list[float]) -> None:
    begin(study)
    changes: list[Callable[[Study], object]] = [
        runs(state=RunState.RUNNING, step="cloning the dataset"),
        runs(step="measuring"),
        runs(state=RunState.LOST, step="", finished_at=timezone.now()),
        measure_again,
        runs(state=RunState.OK, finished_at=timezone.now()),
        of_study(paused_at=timezone.now(), pause_reason="backup"),
        of_study(paused_at=None, pause_reason="", stop_request="cancelled"),
        of_study(state=StudyState.PREPARING, preparing_text="loading"),
        of_study(preparing_fraction=0.5),
        lambda study: study.host.__class__.objects.update(drained_at=Now()),
        lambda _: clock.__setitem__(0, clock[0] + module.REFRESH_S),
    ]
    seen = [glance(study.pk)]
    for change in changes:
        change(study)
        seen.append(glance(study.pk))
    assert len(set(seen)) == len(seen)


def test_heartbeats_and_other_studies_do_not_change_it(study: Study) -> None:
    begin(study)
    runs(state=RunState.RUNNING)(study)
    looks = glance(study.pk), results_glance(study.pk)
    runs(heartbeat_at=timezone.now())(study)
    other = Study.objects.get(pk=study.pk)
    other.pk, other.name = None, "another"
    other.save()
    Study.objects.filter(pk=other.pk).update(state=StudyState.FAILED, preparing_text="x")
    assert (glance(study.pk), results_glance(study.pk)) == looks
    assert glance(other.pk) != looks[0]


def test_of_a_group_only_the_study_that_changed_looks_different(study: Study) -> None:
    begin(study)
    group = StudyGroup.objects.create(name="over two hosts")
    other = Study.objects.get(pk=study.pk)
    other.pk, other.name = None, "another"
    other.save()
    assert group_glances(group.pk) == {}
    Study.objects.update(group=group)
    with CaptureQueriesContext(connection) as asked:
        before = group_glances(group.pk)
    assert len(asked) == 2
    assert set(before) == {study.pk, other.pk}
    runs(state=RunState.RUNNING, step="measuring")(study)
    after = group_glances(group.pk)
    assert after[study.pk] != before[study.pk]
    assert after[other.pk] == before[other.pk]


def test_results_differ_with_what_ended_and_not_with_steps(study: Study) -> None:
    begin(study)
    runs(state=RunState.RUNNING, step="measuring")(study)
    before = results_glance(study.pk)
    runs(step="stopping the server")(study)
    assert results_glance(study.pk) == before
    seen = [before]
    for change in (
        runs(state=RunState.OK, finished_at=timezone.now()),
        measure_again,
        lambda study: study.eliminations.create(
            candidate=first(study).candidate,
            device=first(study).device,
            workload=first(study).workload,
            after_block=1,
        ),
        of_study(conclusions=2),
    ):
        change(study)
        seen.append(results_glance(study.pk))
    assert len(set(seen)) == len(seen)


def test_it_costs_two_short_queries(study: Study) -> None:
    begin(study)
    glance(study.pk)
    with CaptureQueriesContext(connection) as asked:
        glance(study.pk)
    assert len(asked) == 2
    assert not [query for query in asked if "variables" in query["sql"]]
