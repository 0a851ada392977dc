"""Hosts that are retired or gone: their studies end with a reason, and nobody waits for them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.jobs.unstored import Unstored, unstored_endings
from benchmarks.models import Host, JobState, Probe, Run, RunState
from tuning.creation.configs import configs_of
from tuning.creation.create import store_study
from tuning.creation.plan import plan_of
from tuning.errors import TuningError
from tuning.hosts.commands import (
    cancel_probe,
    inspect_again,
    retire_host,
    start_probe,
    unretire_host,
)
from tuning.models import Study, StudyState
from tuning.requests.study import StudyRequest
from tuning.studies.absence import GRACE_SECONDS, look_after_hosts
from tuning.studies.commands import cancel_study, extend_study, pause_study, resume_study
from tuning.studies.jobs import KINDS, StudyRunKind, recover_host
from tuning.studies.progress import study_progress
from tuning.tests.fakes import MINE, begin
from tuning.tests.test_job_storing import measured
from tuning.tests.test_pausing import Sent, later, study, under_way
from tuning.tests.work import execute_run

__all__ = ["later", "study"]
pytestmark = pytest.mark.django_db(transaction=True)
ELSEWHERE = "m.0a-b.1.7.99"


def gone(host: Host, seconds: float = 120.0) -> None:
    """Its worker is silent since then, and so is its job, in another container."""
    silent_since = Now() - timedelta(seconds=seconds)
    Host.objects.filter(pk=host.pk).update(worker_seen_at=silent_since)
    for kind in KINDS:
        kind.running_on(host.pk).update(heartbeat_at=silent_since, claimed_by=ELSEWHERE)


def measuring(study: Study) -> Run:
    begin(study)
    return under_way(study)


def test_what_is_cancelled_on_a_vanished_host_ends_at_once_and_the_queue_goes_on(
    study: Study, later: Study, sent: Sent
) -> None:
    run = measuring(study)
    gone(study.host)
    study.refresh_from_db()
    assert "has not been seen since" in study_progress(study).text
    cancel_study(study)
    run.refresh_from_db()
    study.refresh_from_db()
    assert (run.state, run.reason) == (RunState.CANCELLED, "cancelled by the user")
    assert (study.state, study.reason_code) == (StudyState.CANCELLED, "cancelled")
    later.refresh_from_db()
    assert later.state == StudyState.PREPARING  # it has its turn
    # The host is back with a result: it comes too late.
    Unstored("run", run.pk, ELSEWHERE, StudyRunKind().lost(run, "late")).write()
    recover_host(study.host_id)
    run.refresh_from_db()
    assert (run.state, unstored_endings()) == (RunState.CANCELLED, [])


def test_a_cancelled_run_that_was_heard_a_moment_ago_is_closed_when_it_stays_silent(
    study: Study,
) -> None:
    run = measuring(study)
    gone(study.host)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=Now())
    cancel_study(study)
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING
    gone(study.host, 31)
    look_after_hosts(0.0)
    study.refresh_from_db()
    assert study.state == StudyState.CANCELLED


def test_a_preparation_and_a_probe_on_a_vanished_host_can_be_cancelled(
    study: Study, sent: Sent
) -> None:
    device = study.devices.get()
    Study.objects.filter(pk=study.pk).update(state=StudyState.PREPARING, claimed_by=ELSEWHERE)
    gone(study.host)
    cancel_study(study)
    study.refresh_from_db()
    assert study.state == StudyState.CANCELLED
    probe = start_probe(device)
    Probe.objects.update(state=JobState.RUNNING)
    gone(study.host)
    cancel_probe(probe)
    probe.refresh_from_db()
    assert (probe.state, probe.reason) == (JobState.CANCELLED, "cancelled by the user")


def test_a_host_that_is_cut_off_for_a_while_keeps_its_run(study: Study) -> None:
    run = measuring(study)
    gone(study.host, 60)
    look_after_hosts(GRACE_SECONDS - 1)
    run.refresh_from_db()
    assert (run.state, run.stop_request) == (RunState.RUNNING, "")


def test_the_studies_of_a_host_that_stays_away_end_with_the_reason(
    study: Study, later: Study, settings: Any
) -> None:
    settings.HOST_GONE_HOURS = 24
    run = measuring(study)
    pause_study(later)
    Study.objects.update(created_at=Now() - timedelta(days=3))
    gone(study.host, 25 * 3600)
    look_after_hosts(GRACE_SECONDS - 1)
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING  # the dashboard was started just now
    settings.HOST_GONE_HOURS = 0
    look_after_hosts(GRACE_SECONDS + 1)
    settings.HOST_GONE_HOURS = 26
    look_after_hosts(GRACE_SECONDS + 1)
    study.refresh_from_db()
    assert study.state == StudyState.RUNNING
    settings.HOST_GONE_HOURS = 24
    look_after_hosts(GRACE_SECONDS + 1)
    study.refresh_from_db()
    run.refresh_from_db()
    later.refresh_from_db()
    assert (study.state, study.reason_code) == (StudyState.FAILED, "host_gone")
    assert f"host {study.host} has not been seen since" in study.reason
    assert run.state == RunState.CANCELLED
    assert later.is_paused  # it waits for its user


def test_a_retired_host_ends_its_studies_and_takes_none_until_it_is_back(
    study: Study, later: Study, sent: Sent
) -> None:
    run, host = measuring(study), study.host
    probe = start_probe(study.devices.get())
    Host.objects.update(worker_seen_at=Now())
    retire_host(host, by="ann", reason="sold")
    study.refresh_from_db()
    later.refresh_from_db()
    run.refresh_from_db()
    probe.refresh_from_db()
    for one in (study, later):
        assert (one.state, one.reason_code) == (StudyState.CANCELLED, "host_retired")
        assert one.reason.endswith("by ann: sold")
    assert probe.state == JobState.CANCELLED
    assert (run.state, run.stop_request) == (RunState.RUNNING, CANCELLED)  # its worker lives
    gone(host)
    look_after_hosts(GRACE_SECONDS + 1)
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    with pytest.raises(TuningError, match="already"):
        retire_host(host)
    with pytest.raises(TuningError, match="sold"):
        start_probe(study.devices.get())
    Study.objects.filter(pk=later.pk).update(state=StudyState.FINISHED)
    with pytest.raises(TuningError, match="sold"):
        extend_study(Study.objects.get(pk=later.pk), 1)
    unretire_host(host)
    assert start_probe(study.devices.get()).state == JobState.QUEUED


@pytest.mark.usefixtures("host_of_fakes", "sent")
def test_nothing_is_stored_for_a_host_that_was_retired_while_it_was_planned() -> None:
    plan = plan_of(StudyRequest(template="compare", configs=[MINE], blocks=1))
    configs = configs_of(plan)
    host = Host.objects.get()
    Host.objects.update(worker_seen_at=Now())
    inspection = inspect_again(host)
    retire_host(host)
    inspection.refresh_from_db()
    assert inspection.state == JobState.CANCELLED
    with pytest.raises(TuningError) as refused, transaction.atomic():
        store_study(plan, configs, None)
    assert refused.value.code == "host_retired"
    assert not Study.objects.exists()


@pytest.mark.parametrize("why", ["idle", "retired"])
def test_a_worker_that_takes_no_work_claims_nothing(study: Study, why: str) -> None:
    begin(study)
    run = study.slots.order_by("order")[0].run
    if why == "idle":
        Host.objects.update(idle_reason="its code is older than the database")
    else:
        Host.objects.update(retired_at=Now())
    assert not execute_run(run.pk, measure=measured)
    Host.objects.update(idle_reason="", retired_at=None)
    assert execute_run(run.pk, measure=measured)


def test_the_clock_of_whoever_looks_is_not_compared_with_the_databases(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = measuring(study)
    Run.objects.filter(pk=run.pk).update(started_at=Now())
    Host.objects.update(worker_seen_at=Now())
    study.refresh_from_db()
    before = study_progress(study).eta_s
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(hours=1))
    after = study_progress(study).eta_s
    assert before is not None
    assert after is not None
    assert after == pytest.approx(before, abs=5)
    pause_study(study)
    resume_study(study)
    study.refresh_from_db()
    assert study.resumed_at is not None
    assert study.resumed_at < real() + timedelta(minutes=1)
