"""A host is drained: its current job ends, its queue waits and says so, undraining wakes it."""

from __future__ import annotations

import pytest
from django.db import connection

from benchmarks.models import Host, JobState, Probe, RunState
from tuning.errors import TuningError
from tuning.hosts import commands
from tuning.hosts.commands import drain_host, start_probe, undrain_host
from tuning.models import Study, StudyState
from tuning.studies.commands import cancel_study, pause_study
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import EXECUTE, PREPARE, PROBE, advance_host
from tuning.studies.waiting import drain_text
from tuning.tests.fakes import measure_by_config, run_to_the_end
from tuning.tests.test_pausing import Sent, asked, ended, later, study, under_way
from tuning.tests.work import execute_run, prepare_study

__all__ = ["later", "study"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.long
def test_a_drained_host_ends_its_run_and_begins_nothing_until_it_is_undrained(
    study: Study, later: Study, sent: Sent
) -> None:
    prepare_study(study.pk)
    advance_host(study.host_id)
    run, host = under_way(study), study.host
    sent.clear()
    drain_host(host, by="ann", reason="a new\nkernel")
    assert drain_text(host).endswith(" by ann: a new kernel")
    start_probe(study.devices.get())
    run.refresh_from_db()
    assert (run.state, run.stop_request) == (RunState.RUNNING, "")
    study.refresh_from_db()
    measured = study_progress(study)
    assert measured.candidate
    assert f"; waiting: {drain_text(host)}" in measured.text
    assert measured.eta_s is None
    ended(run)
    # The queue includes a study whose message is on its way and a probe.
    pause_study(study)
    advance_host(host.pk)
    later.refresh_from_db()
    assert (sent, later.state) == ([], StudyState.QUEUED)
    assert study_progress(later).text == f"waiting: {drain_text(host)}"
    undrain_host(host)
    assert drain_text(host) == ""
    assert [(task, pk) for task, pk, _ in sent] == [(PROBE, Probe.objects.get().pk)]
    Probe.objects.update(state=JobState.CANCELLED)
    advance_host(host.pk)
    run_to_the_end(later, measure_by_config)
    assert later.state == StudyState.FINISHED


def test_messages_that_were_already_sent_begin_nothing_on_a_drained_host(
    study: Study, sent: Sent
) -> None:
    host = study.host
    drain_host(host)
    assert not prepare_study(study.pk)
    undrain_host(host)
    assert prepare_study(study.pk)
    advance_host(host.pk)
    run = study.slots.order_by("order")[0].run
    sent.clear()
    drain_host(host)
    assert not execute_run(run.pk, measure=measure_by_config)
    undrain_host(host)
    assert sent == [(EXECUTE, run.pk, host.queue)]
    assert execute_run(run.pk, measure=measure_by_config)


def test_what_needs_no_measuring_still_ends_on_a_drained_host(study: Study, later: Study) -> None:
    run_to_the_end(study, measure_by_config)
    Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, finished_at=None)
    drain_host(study.host)
    advance_host(study.host_id)
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED
    cancel_study(later)
    later.refresh_from_db()
    assert later.state == StudyState.CANCELLED


def test_other_hosts_are_not_drained(study: Study, sent: Sent) -> None:
    other = Host.objects.create(name="other")
    drain_host(other)
    advance_host(study.host_id)
    assert sent[-1][:2] == (PREPARE, study.pk)
    with pytest.raises(TuningError, match="already drained") as caught:
        drain_host(other)
    assert caught.value.code == "already_drained"
    with pytest.raises(TuningError, match="not drained") as caught:
        undrain_host(study.host)
    assert caught.value.code == "not_drained"
    assert asked().state == StudyState.QUEUED


def test_a_host_is_checked_while_its_row_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that of two users at once only one drains it."""
    held: list[bool] = []
    monkeypatch.setattr(
        commands, "check_can_drain", lambda _: held.append(connection.in_atomic_block)
    )
    drain_host(Host.objects.create(name="other"))
    assert held == [True]
