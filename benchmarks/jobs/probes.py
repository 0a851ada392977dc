"""Executes one probe: claim the row, measure the device, close the row."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from django.utils import timezone

from benchmarks.datasets.golden import FULL
from benchmarks.emulation.device import emulated_device
from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.inventory.devices import check_still_there
from benchmarks.jobs import heartbeat
from benchmarks.jobs.claims import claimant
from benchmarks.jobs.heartbeat import Heartbeat, measuring_alone
from benchmarks.jobs.provenance import code_commit
from benchmarks.models import Device, Probe, ProbeState
from benchmarks.outcomes import Outcome
from benchmarks.probe.advice import suggested_io_capacity
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult
from benchmarks.probe.run import Progress, probe_device
from benchmarks.storage.kinds import DeviceKind

logger = logging.getLogger(__name__)

Look = Callable[..., ProbeResult]


def execute_probe(probe_id: int, *, look: Look = probe_device) -> bool:
    """Probe if nobody else does, never beside a benchmark; False when there was nothing to do."""
    with measuring_alone() as held:
        if not held:
            return False
        now = timezone.now()
        claimed = Probe.objects.filter(pk=probe_id, state=ProbeState.QUEUED).update(
            state=ProbeState.RUNNING, claimed_by=claimant(), started_at=now, heartbeat_at=now
        )
        if claimed:
            _execute_claimed(Probe.objects.select_related("device").get(pk=probe_id), look)
    return claimed == 1


def _execute_claimed(probe: Probe, look: Look) -> None:
    mine = Probe.objects.filter(pk=probe.pk, state=ProbeState.RUNNING, claimed_by=claimant())
    latest: dict[str, Any] = {}

    def beat() -> str:
        if not mine.update(heartbeat_at=timezone.now(), **latest):
            return heartbeat.TAKEN_AWAY
        return mine.values_list("stop_request", flat=True).first() or ""

    def progress(found: Progress) -> None:
        latest.update(fraction=found.fraction, step=found.job[:64])

    with Heartbeat(beat) as pulse:
        try:
            result = _look(probe, look, progress, pulse.should_stop)
            values = _values(result)
        except BenchmarkError as failure:
            _close_failed(probe, failure, pulse.stop_request)
        except OSError as error:
            code = Outcome.DISK_FULL if error.errno in FULL else Outcome.SETUP_FAILED
            _close(probe, ProbeState.FAILED, reason_code=code.value, reason=str(error))
        except Exception as bug:
            logger.exception("probe %s: internal error", probe.pk)
            code = Outcome.INTERNAL_ERROR
            reason = f"{type(bug).__name__}: {bug}"
            _close(probe, ProbeState.FAILED, reason_code=code.value, reason=reason)
        except BaseException:
            # SystemExit of a cold worker shutdown: the row must not stay `running`.
            _close(probe, ProbeState.LOST, reason="the worker was terminated")
            raise
        else:
            _close(probe, ProbeState.OK, fraction=1.0, **values)


def _look(
    probe: Probe,
    look: Look,
    progress: Callable[[Progress], None],
    should_stop: Callable[[], bool],
) -> ProbeResult:
    device: Device = probe.device
    path = device.layout.data_dir
    check_still_there(device)
    correction = DeviceKind(device.kind_correction) if device.kind_correction else None
    with ExitStack() as stack:
        name = f"probe-{probe.pk}"
        cage = stack.enter_context(emulated_device(device.profile, [path], run=name))
        return look(
            path,
            seconds=probe.seconds,
            kind=correction,
            confinement=cage,
            progress=progress,
            should_stop=should_stop,
        )


def _values(result: ProbeResult) -> dict[str, Any]:
    commit = result.commit()
    writes = result.best_iops(Pattern.RANDOM_WRITE)
    low, high = suggested_io_capacity(result) if writes else (None, None)
    return {
        "random_read_iops": result.best_iops(Pattern.RANDOM_READ),
        "random_write_iops": writes,
        "read_mb_s": result.best_mb_s(Pattern.SEQUENTIAL_READ),
        "write_mb_s": result.best_mb_s(Pattern.SEQUENTIAL_WRITE),
        "commit_p50_us": commit.flush.p50 if commit and commit.flush else None,
        "commit_p99_us": commit.flush.p99 if commit and commit.flush else None,
        "io_capacity_low": low,
        "io_capacity_high": high,
        "code_commit": code_commit(),
        "result": result.as_json(),
    }


def _close_failed(probe: Probe, failure: BenchmarkError, stop_request: str) -> None:
    cancelled = isinstance(failure, RunFailed) and failure.outcome is Outcome.CANCELLED
    if cancelled and stop_request == heartbeat.WORKER_DIED:
        _close(probe, ProbeState.LOST, reason="the worker died")
    elif cancelled:
        by_user = stop_request == heartbeat.CANCELLED
        reason = "cancelled by the user" if by_user else "the worker was stopped"
        _close(probe, ProbeState.CANCELLED, reason=reason)
    else:
        _close(probe, ProbeState.FAILED, reason_code=failure.code, reason=str(failure))


def _close(probe: Probe, state: ProbeState, **values: Any) -> None:
    mine = Probe.objects.filter(pk=probe.pk, state=ProbeState.RUNNING, claimed_by=claimant())
    if not mine.update(state=state, finished_at=timezone.now(), step="", **values):
        logger.warning("probe %s was closed by somebody else meanwhile", probe.pk)
