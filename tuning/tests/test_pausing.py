"""A study is paused and resumed; its host continues with the next one meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from benchmarks.jobs.locks import this_process
from benchmarks.models import Run, RunState
from tuning.creation.create import create_study
from tuning.errors import TuningError
from tuning.models import Study, StudyState
from tuning.requests.study import StudyRequest
from tuning.studies.commands import cancel_study, extend_study, pause_study, resume_study
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import EXECUTE, PREPARE, advance_host
from tuning.tests.fakes import MINE, measure_by_config, run_to_the_end
from tuning.tests.work import execute_run, prepare_study

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]
Sent = list[tuple[str, int, str]]


def asked(**values: Any) -> Study:
    facts: dict[str, Any] = {
        "template": "compare",
        "configs": [MINE],
        "blocks": 2,
        "confirms": False,
    }
    return create_study(StudyRequest(**(facts | values)))


@pytest.fixture
def study(host_of_fakes: None, sent: Sent) -> Study:
    return asked()


@pytest.fixture
def later(study: Study) -> Study:
    return asked()


def under_way(study: Study) -> Run:
    """Its next run, as if a worker had just begun it."""
    run: Run = study.slots.filter(run__state=RunState.QUEUED).order_by("order")[0].run
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, claimed_by=this_process(), heartbeat_at=now, started_at=now
    )
    return run


def ended(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=RunState.OK, throughput=6000, comparability_key="k")


def test_the_run_at_hand_ends_and_then_the_next_study_has_its_turn(
    study: Study, later: Study, sent: Sent
) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    run = under_way(study)
    sent.clear()
    pause_study(study, by="ann", reason="the backup runs")
    assert sent == []
    run.refresh_from_db()
    assert (run.state, run.stop_request) == (RunState.RUNNING, "")
    ended(run)
    advance_host(study.host_id)
    assert sent == [(PREPARE, later.pk, later.host.queue)]
    run_to_the_end(later, measure_by_config)
    study.refresh_from_db()
    assert later.state == StudyState.FINISHED
    assert (study.state, study.is_paused) == (StudyState.RUNNING, True)
    assert study.slots.filter(run__state=RunState.QUEUED).exists()


def test_a_resumed_study_continues_where_it_was(study: Study, sent: Sent) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    order = list(study.slots.order_by("order").values_list("candidate__name", "run__seed"))
    pause_study(study, by="ann")
    sent.clear()
    advance_host(study.host_id)
    assert sent == []
    resume_study(study)
    assert not study.is_paused
    assert (study.paused_by, study.pause_reason) == ("", "")
    first = study.slots.order_by("order")[0].run_id
    assert sent == [(EXECUTE, first, study.host.queue)]
    run_to_the_end(study, measure_by_config)
    assert study.state == StudyState.FINISHED
    kept = study.slots.order_by("order").values_list("candidate__name", "run__seed")
    assert list(kept)[: len(order)] == order


def test_a_resumed_study_waits_for_the_one_that_is_running(
    study: Study, later: Study, sent: Sent
) -> None:
    prepare_study(study.pk)
    pause_study(study)
    prepare_study(later.pk)
    advance_host(study.host_id)
    sent.clear()
    resume_study(study)
    first = later.slots.order_by("order")[0].run_id
    assert sent == [(EXECUTE, first, later.host.queue)]
    run_to_the_end(later, measure_by_config)
    assert sent[-1][0] == EXECUTE
    assert sent[-1][1] in set(study.slots.values_list("run_id", flat=True))


def test_an_extended_study_waits_for_the_one_that_is_running(
    study: Study, later: Study, sent: Sent
) -> None:
    run_to_the_end(study, measure_by_config)
    prepare_study(later.pk)
    advance_host(study.host_id)
    sent.clear()
    extend_study(study, 1)
    assert {pk for _, pk, _ in sent} <= set(later.slots.values_list("run_id", flat=True))
    assert sent


def test_a_message_that_was_already_sent_begins_no_run_of_a_paused_study(
    study: Study, sent: Sent
) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    run = study.slots.order_by("order")[0].run
    pause_study(study)
    assert not execute_run(run.pk, measure=measure_by_config)
    resume_study(study)
    assert execute_run(run.pk, measure=measure_by_config)


def test_a_message_that_was_already_sent_loads_no_dataset_of_a_paused_study(study: Study) -> None:
    pause_study(study)
    assert not prepare_study(study.pk)
    resume_study(study)
    assert prepare_study(study.pk)


def test_a_dataset_that_is_being_loaded_is_loaded_to_its_end(
    study: Study, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = asked()
    sent.clear()

    def load(*_: Any, **__: Any) -> None:
        pause_study(study, by="ann")
        assert sent == []

    monkeypatch.setattr("tuning.studies.preparation.ensure_dataset", load)
    prepare_study(study.pk)
    study.refresh_from_db()
    assert (study.state, study.is_paused) == (StudyState.RUNNING, True)
    advance_host(study.host_id)
    assert sent == [(PREPARE, later.pk, later.host.queue)]


def test_a_queued_study_is_passed_over_while_it_is_paused(
    study: Study, later: Study, sent: Sent
) -> None:
    third = asked()
    pause_study(later)
    run_to_the_end(study, measure_by_config)
    assert sent[-1] == (PREPARE, third.pk, third.host.queue)
    later.refresh_from_db()
    assert later.state == StudyState.QUEUED


def test_a_paused_study_is_cancelled_at_once(study: Study, later: Study) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    pause_study(study)
    prepare_study(later.pk)
    advance_host(study.host_id)
    under_way(later)
    cancel_study(study)
    study.refresh_from_db()
    assert (study.state, study.is_paused) == (StudyState.CANCELLED, False)
    assert set(study.slots.values_list("run__state", flat=True)) == {RunState.CANCELLED}


def test_progress_says_why_nothing_happens(study: Study) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    run = under_way(study)
    pause_study(study, by="ann", reason="the backup runs")
    progress = study_progress(study)
    assert progress.text.startswith("block 1 of 2: ")
    assert "; paused since " in progress.text
    assert progress.eta_s is None
    ended(run)
    progress = study_progress(study)
    assert progress.text.startswith("paused since ")
    assert progress.text.endswith(" by ann: the backup runs")
    assert (progress.candidate, progress.runs_done) == ("", 1)


def test_a_reason_is_kept_as_one_line_of_text(study: Study) -> None:
    pause_study(study, by="ann\x00", reason=" the\nbackup\x00 runs \ud800" + "x" * 300)
    study.refresh_from_db()
    assert study.paused_by == "ann"
    assert study.pause_reason == "the backup runs " + "x" * 184


def refused(action: Any, study: Study) -> str:
    with pytest.raises(TuningError) as error:
        action(study)
    return error.value.code


def test_what_cannot_be_done_says_why(study: Study) -> None:
    assert refused(resume_study, study) == "not_paused"
    pause_study(study)
    assert refused(pause_study, study) == "already_paused"
    assert refused(lambda one: extend_study(one, 1), study) == "not_finished"
    resume_study(study)
    run_to_the_end(study, measure_by_config)
    for action in (pause_study, resume_study, cancel_study):
        assert refused(action, study) == "already_ended"
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED


def test_a_study_whose_device_is_gone_is_not_resumed_only_cancelled(study: Study) -> None:
    """Every run that is left would fail at once."""
    pause_study(study)
    study.devices.update(retired_at=timezone.now())
    assert refused(resume_study, study) == "device_retired"
    study.refresh_from_db()
    assert study.is_paused
    cancel_study(study)


def test_a_study_that_is_being_cancelled_is_not_paused(study: Study) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    under_way(study)
    cancel_study(study)
    assert refused(pause_study, study) == "being_cancelled"
