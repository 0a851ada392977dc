"""The revision of a study rises whenever something that is shown of it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.utils import timezone

from benchmarks.models import Run, RunState
from tuning.creation.create import create_study
from tuning.hosts.commands import drain_host, undrain_host
from tuning.models import Study, StudyState
from tuning.requests.study import StudyRequest
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.studies.commands import (
    cancel_study,
    conclude_study,
    extend_study,
    pause_study,
    resume_study,
)
from tuning.studies.scheduler import advance_host
from tuning.tests.fakes import MINE, measure_by_config, run_to_the_end
from tuning.tests.test_study_lifecycle import study
from tuning.tests.work import execute_run, next_run, prepare_study

__all__ = ["study"]
pytestmark = pytest.mark.django_db(transaction=True)

# Columns that tell only how a job goes on.
_UNSHOWN = {"revision", "heartbeat_at", "live", "step", "claimed_by"}


def shown(study: Study) -> list[Any]:
    """The document, and the rows it is made of without what only a running job changes."""
    runs = Run.objects.filter(slot__study=study)
    rows: list[Any] = [
        Study.objects.filter(pk=study.pk).values()[0],
        *study.host.__class__.objects.filter(pk=study.host_id).values("drained_at"),
        *study.candidates.order_by("pk").values(),
        *study.slots.order_by("pk").values(),
        *runs.order_by("pk").values(),
        *study.eliminations.order_by("pk").values(),
        *study.recommendations.order_by("pk").values(),
    ]
    document = build(StudyRows(study)).model_copy(update={"revision": 0})
    return [document] + [
        {key: value for key, value in row.items() if key not in _UNSHOWN} for row in rows
    ]


@contextmanager
def raising(study: Study) -> Iterator[None]:
    """Hold the revision to have risen if anything has changed, and something to have."""
    before, revision = shown(study), revision_of(study)
    yield
    assert shown(study) != before
    assert revision_of(study) > revision


def revision_of(study: Study) -> int:
    return Study.objects.values_list("revision", flat=True).get(pk=study.pk)


def test_it_rises_with_each_step_of_a_study(study: Study) -> None:
    with raising(study):
        prepare_study(study.pk)
    with raising(study):
        advance_host(study.host_id)
    while (run := next_run(study)) is not None:
        claimed: list[int] = []

        def measure(*args: Any, seen: list[int] = claimed, **more: Any) -> Any:
            seen.append(revision_of(study))
            return measure_by_config(*args, **more)

        queued = revision_of(study)
        with raising(study):
            execute_run(run, measure=measure)
        assert queued < claimed[0] < revision_of(study)
        rows, ended = shown(study), revision_of(study)
        advance_host(study.host_id)
        assert rows == shown(study) or revision_of(study) > ended
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED
    assert study.recommendations.exists()


def lose_a_run(study: Study) -> None:
    runs = Run.objects.filter(slot__study=study)
    runs.update(state=RunState.LOST, finished_at=timezone.now())
    advance_host(study.host_id)


@pytest.mark.parametrize(
    "act",
    [
        pause_study,
        cancel_study,
        lambda study: drain_host(study.host),
        lose_a_run,
    ],
    ids=["paused", "cancelled", "drained", "queued again"],
)
def test_it_rises_with_what_users_do(study: Study, act: Callable[[Study], Any]) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    with raising(study):
        act(study)


def test_it_rises_when_an_undone_wish_ends(study: Study) -> None:
    pause_study(study)
    with raising(study):
        resume_study(study)
    drain_host(study.host)
    with raising(study):
        undrain_host(study.host)


def test_it_rises_with_a_conclusion_and_an_extension(host_of_fakes: None, sent: list[Any]) -> None:
    study = create_study(StudyRequest(template="compare", configs=[MINE], blocks=3))
    prepare_study(study.pk)
    advance_host(study.host_id)
    while study.slots.filter(run__state=RunState.OK).count() < 4:
        run = next_run(study)
        assert run is not None
        execute_run(run, measure=measure_by_config)
        advance_host(study.host_id)
    with raising(study):
        conclude_study(study)
    run_to_the_end(study, measure_by_config)
    with raising(study):
        extend_study(study, 1)


def test_a_run_of_another_study_leaves_it_alone(study: Study) -> None:
    other = create_study(StudyRequest(template="compare", configs=[MINE], blocks=1))
    before = revision_of(other)
    run_to_the_end(study, measure_by_config)
    # The host's turn has passed to the other one.
    assert revision_of(other) <= before + 1
