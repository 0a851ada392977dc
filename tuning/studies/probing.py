"""Queues and cancels the probe of a device."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from benchmarks.jobs.cancelling import cancel_jobs
from benchmarks.models import ACTIVE_JOB_STATES, Device, Probe
from benchmarks.probe.run import MAX_S, MIN_S, USUAL_S
from tuning.errors import BadRequest, TuningError
from tuning.studies.absence import close_what_was_cancelled
from tuning.studies.host_checks import check_not_retired, hold_in_use
from tuning.studies.scheduler import advance_host


def start_probe(device: Device, seconds: float = USUAL_S, user: Any = None) -> Probe:
    """Queue a probe of that device. It waits for the study that is running.

    Raises BadRequest for a time out of range, TuningError: probe_running, device_retired,
    host_retired.
    """
    if not MIN_S <= seconds <= MAX_S:  # refuses NaN as well
        raise BadRequest(f"seconds must be between {MIN_S:.0f} and {MAX_S:.0f}", field="seconds")
    check_can_probe(device)
    try:
        with transaction.atomic():
            hold_in_use(device.host)
            probe = Probe.objects.create(device=device, seconds=seconds, created_by=user)
            transaction.on_commit(lambda: advance_host(device.host_id))
    except IntegrityError:
        raise TuningError("probe_running", "this device is already being probed") from None
    return probe


def check_can_probe(device: Device) -> None:
    """Raise TuningError where `start_probe` would."""
    if device.retired_at is not None:
        raise TuningError("device_retired", f"{device}: another device is in its place now")
    check_not_retired(device.host)
    if device.probes.filter(state__in=ACTIVE_JOB_STATES).exists():
        raise TuningError("probe_running", "this device is already being probed")


def check_can_cancel_probe(probe: Probe) -> None:
    """Raise TuningError, already_ended, for a probe that has ended."""
    if probe.is_finished:
        raise TuningError("already_ended", "the probe has ended")


def cancel_probe(probe: Probe) -> None:
    """Cancel the probe: within seconds if it is running, at once if it is queued."""
    cancel_jobs(Probe.objects.filter(pk=probe.pk))
    close_what_was_cancelled(probe.device.host_id)
    advance_host(probe.device.host_id)
