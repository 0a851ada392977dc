"""Probes as jobs: rows, messages and the host's lock are real, and so is fio in the last test."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

from benchmarks.errors import ProbeFailed, RunFailed
from benchmarks.models import Device, Host, JobState, Probe, Server, Workload
from benchmarks.outcomes import Outcome
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.run import probe_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.tests.made_up_host import this_host
from tuning.creation.devices import register_device
from tuning.errors import BadRequest, TuningError
from tuning.hosts.commands import cancel_probe, start_probe
from tuning.models import Study, StudyState
from tuning.requests.device import DeviceRequest
from tuning.studies.jobs import request_stop
from tuning.studies.scheduler import PREPARE, PROBE, advance_host
from tuning.tests.work import execute_probe

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The messages sent to the broker: (task, id)."""
    messages: list[tuple[str, int]] = []
    monkeypatch.setattr(
        current_app, "send_task", lambda name, args, **_: messages.append((name, args[0]))
    )
    return messages


@pytest.fixture
def device(sent: list[tuple[str, int]], settings: Any, tmp_path: Path) -> Device:
    settings.RUN_DIR = tmp_path
    this_host(directories=[tmp_path / "device"])
    return register_device(DeviceRequest())


def a_study(host: Host, state: StudyState) -> Study:
    server = Server.objects.create(host=host, flavour="mysql", version="9", path="/x", digest="d")
    study = Study.objects.create(
        name="any", template="quick", host=host, server=server, blocks=1, seed=1, state=state
    )
    study.workloads.add(
        Workload.objects.create(
            driver="fake", warehouses=1, connections=1, warmup_s=1, measure_s=1
        )
    )
    return study


def fails_with(error: BaseException) -> Callable[..., Any]:
    def look(*_: Any, **__: Any) -> Any:
        raise error

    return look


def test_a_probe_wakes_the_worker(device: Device, sent: list[tuple[str, int]]) -> None:
    probe = start_probe(device)
    assert sent == [(PROBE, probe.pk)]
    with pytest.raises(TuningError, match="already being probed"):
        start_probe(device)
    assert Probe.objects.count() == 1


@pytest.mark.parametrize("seconds", [0, 29.9, 60.1, -1, float("nan"), float("inf")])
def test_times_out_of_range_are_refused(device: Device, seconds: float) -> None:
    with pytest.raises(BadRequest, match="between 30 and 60") as no:
        start_probe(device, seconds)
    assert no.value.field == "seconds"
    assert not Probe.objects.exists()


def test_a_device_that_is_gone_is_not_probed(device: Device) -> None:
    device.retired_at = timezone.now()
    device.save()
    with pytest.raises(TuningError, match="another device"):
        start_probe(device)


def test_a_probe_waits_for_a_study_that_has_begun(
    device: Device, sent: list[tuple[str, int]]
) -> None:
    study = a_study(device.host, StudyState.PREPARING)
    probe = start_probe(device)
    assert sent == [(PREPARE, study.pk)]
    Study.objects.update(state=StudyState.FINISHED)
    advance_host(device.host_id)
    assert sent[-1] == (PROBE, probe.pk)


def test_a_probe_goes_before_a_study_that_waits(
    device: Device, sent: list[tuple[str, int]]
) -> None:
    probe = start_probe(device)
    study = a_study(device.host, StudyState.QUEUED)
    advance_host(device.host_id)
    assert set(sent) == {(PROBE, probe.pk)}
    Probe.objects.update(state=JobState.RUNNING)
    advance_host(device.host_id)
    study.refresh_from_db()
    assert study.state == StudyState.QUEUED
    Probe.objects.update(state=JobState.OK)
    advance_host(device.host_id)
    assert sent[-1] == (PREPARE, study.pk)


@pytest.mark.parametrize(
    ("error", "state", "code"),
    [
        (ProbeFailed("fio said nothing"), JobState.FAILED, "probe_failed"),
        (RunFailed(Outcome.DISK_FULL, "full"), JobState.FAILED, "disk_full"),
        (RunFailed(Outcome.TIMED_OUT, "slow"), JobState.FAILED, "timed_out"),
        (RunFailed(Outcome.LOST, "fio was killed"), JobState.LOST, ""),
        (OSError(errno.ENOSPC, "full"), JobState.FAILED, "disk_full"),
        (OSError(errno.EIO, "broken"), JobState.FAILED, "setup_failed"),
        (ZeroDivisionError("a bug"), JobState.FAILED, "internal_error"),
    ],
)
def test_a_failure_is_kept_with_its_reason(
    device: Device, error: Exception, state: JobState, code: str
) -> None:
    probe = start_probe(device)
    assert execute_probe(probe.pk, look=fails_with(error))
    probe.refresh_from_db()
    assert (probe.state, probe.reason_code, probe.found) == (state, code, None)
    assert probe.reason
    assert probe.finished_at is not None
    assert not execute_probe(probe.pk, look=fails_with(error))


def test_a_worker_that_is_terminated_closes_its_row(device: Device) -> None:
    probe = start_probe(device)
    with pytest.raises(SystemExit):
        execute_probe(probe.pk, look=fails_with(SystemExit()))
    probe.refresh_from_db()
    assert (probe.state, probe.reason) == (JobState.CANCELLED, "the worker was terminated")


def test_a_probe_that_waits_is_cancelled_at_once(device: Device) -> None:
    probe = start_probe(device)
    cancel_probe(probe)
    probe.refresh_from_db()
    assert (probe.state, probe.reason) == (JobState.CANCELLED, "cancelled by the user")
    assert not execute_probe(probe.pk)
    start_probe(device)


@pytest.mark.parametrize(
    ("request_end", "state", "reason"),
    [
        (lambda probe: cancel_probe(probe), JobState.CANCELLED, "cancelled by the user"),
        (
            lambda probe: request_stop(probe.device.host_id),
            JobState.CANCELLED,
            "the worker was stopped",
        ),
    ],
)
def test_one_that_runs_hears_of_it(
    device: Device,
    settings: Any,
    request_end: Callable[[Probe], None],
    state: JobState,
    reason: str,
) -> None:
    settings.HEARTBEAT_SECONDS = 0.05
    probe = start_probe(device)

    def look(_: DeviceIdentity, *, progress: Any, should_stop: Any, **__: Any) -> Any:
        progress(0.5, "randread 16k, depth 4, direct")
        request_end(probe)
        deadline = timezone.now() + timedelta(seconds=10)
        while not should_stop():
            assert timezone.now() < deadline
        raise RunFailed(Outcome.CANCELLED, "stopped")

    execute_probe(probe.pk, look=look)
    probe.refresh_from_db()
    assert (probe.state, probe.reason, probe.step) == (state, reason, "")
    assert probe.fraction == 0.5


@pytest.mark.slow
def test_a_real_probe(device: Device) -> None:
    probe = start_probe(device)
    seen: list[float] = []

    def brief(found: DeviceIdentity, *, seconds: float, progress: Any, **values: Any) -> Any:
        assert seconds == 50

        def heard(fraction: float, job: str) -> None:
            seen.append(fraction)
            progress(fraction, job)

        return probe_device(found, seconds=2, progress=heard, **values)

    assert execute_probe(probe.pk, look=brief)
    probe.refresh_from_db()
    assert (probe.state, probe.reason, probe.fraction) == (JobState.OK, "", 1.0)
    found = probe.found
    assert found is not None
    assert probe.random_write_iops == found.best(Pattern.RANDOM_WRITE)
    assert probe.commit_p50_us is not None
    low, high = probe.io_capacity_low, probe.io_capacity_high
    assert low is not None
    assert high is not None
    assert low < high
    assert found.emulated == ""
    assert seen == sorted(seen)
    assert list(device.layout.root.iterdir()) == []
