"""A user's requests to a host: inspections, probes, deleted datasets, maintenance, retirement."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from benchmarks.errors import about
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.heartbeat import cancel_jobs
from benchmarks.jobs.presence import is_silent
from benchmarks.models import ACTIVE_JOB_STATES, Device, Host, Inspection, JobState, Probe
from benchmarks.probe.run import MAX_S, MIN_S, USUAL_S
from tuning.creation.devices import device_spec
from tuning.errors import BadRequest, TuningError
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import MAX_PATH
from tuning.studies.absence import close_what_was_cancelled, stop_study
from tuning.studies.datasets import deletable, noted_datasets
from tuning.studies.revision import bump_host
from tuning.studies.scheduler import advance_host
from tuning.studies.waiting import (
    by_and_reason,
    check_not_retired,
    driven_by,
    hold_in_use,
    retire_text,
)

MAX_WAITING = 20
#: Answers are of use for as long as a form is being filled in.
_KEPT = timedelta(days=1)


def inspect_again(host: Host, user: Any = None) -> Inspection:
    """Let the host look at all that it has. Raises TuningError: host_retired, host_busy."""
    return _queue(host, user)


def inspect_server(host: Host, path: str, *, lists: bool, user: Any = None) -> Inspection:
    """Let the host look at a server program.

    lists: an administrator's word that the host may start it from now on. Without it the host
    must have the path already.
    Raises BadRequest for what is no path; NotListed, NotAServer and NotInspected about the field
    "server"; TuningError: host_retired, host_busy.
    """
    with about("server"):
        named = _path(path)
        if not lists:
            inventory_of(host).server(named)
    return _queue(host, user, subject=Inspection.Subject.SERVER, path=str(named), lists=lists)


def inspect_device(
    host: Host, request: DeviceRequest, *, lists: bool, user: Any = None
) -> Inspection:
    """Let the host look at the directories of a device, and whether its limits can be had.

    lists: as for a server. Raises like `inspect_server`, with the fields "path" and "log_dir".
    """
    for field, given in (("path", request.path), ("log_dir", request.log_dir)):
        if given is not None and not lists:
            with about(field):
                inventory_of(host).directory(given)
    return _queue(
        host,
        user,
        subject=Inspection.Subject.DEVICE,
        path=str(request.path or ""),
        log_dir=str(request.log_dir or ""),
        emulate=request.emulate,
        memory_bytes=device_spec(request).memory_bytes,
        lists=lists,
    )


def ask_to_delete(host: Host, key: str, user: Any = None) -> Inspection:
    """Let the host delete the dataset of that name between two runs.

    Raises NoDataset for one that it has not noted, DatasetInUse for one that a study needs;
    TuningError: host_retired, host_busy.
    """
    deletable(noted_datasets(host), key)
    return _queue(host, user, subject=Inspection.Subject.DATASETS, path=key)


def ask_to_prune(host: Host, user: Any = None) -> Inspection:
    """Let the host delete what its policy lets go. Raises TuningError: host_retired, host_busy."""
    return _queue(host, user, subject=Inspection.Subject.DATASETS)


def waiting_text(row: Inspection) -> str:
    """Return why an inspection is not finished, without a full stop; "" once it is."""
    if row.is_finished:
        return ""
    if row.state != JobState.QUEUED:
        return f"host {row.host} is looking"
    if is_silent(row.host_id):
        return f"waits for the worker of host {row.host}, which does not report"
    return f"host {row.host} looks as soon as nothing is measured on its machine"


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


def cancel_probe(probe: Probe) -> None:
    """Cancel the probe: within seconds if it is running, at once if it is queued."""
    cancel_jobs(Probe.objects.filter(pk=probe.pk))
    close_what_was_cancelled(probe.device.host_id)
    advance_host(probe.device.host_id)


def check_can_cancel_probe(probe: Probe) -> None:
    """Raise TuningError, already_ended, for a probe that has ended."""
    if probe.is_finished:
        raise TuningError("already_ended", "the probe has ended")


def _path(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute() or "\0" in text or len(text) > MAX_PATH:
        raise BadRequest(f"{text[:80]!r} is not an absolute path", field="server")
    return path


def _queue(host: Host, user: Any, **columns: Any) -> Inspection:
    """Store an inspection with these columns; the host does it between two runs.

    Raises TuningError: host_retired, host_busy.
    """
    with transaction.atomic():
        hold_in_use(host)
        rows = Inspection.objects.filter(host=host)
        rows.filter(finished_at__lt=Now() - _KEPT).delete()
        if rows.filter(state=JobState.QUEUED).count() >= MAX_WAITING:
            raise TuningError(
                "host_busy", f"{MAX_WAITING} inspections wait for host {host} already"
            )
        row = Inspection.objects.create(host=host, created_by=user, **columns)
        transaction.on_commit(lambda: advance_host(host.pk))
    return row


def drain_host(host: Host, *, by: str = "", reason: str = "") -> None:
    """Start nothing more on the host until it is undrained; its queue waits.

    The current run, load or probe is finished first. `by` is the user.
    Raises TuningError: already_drained, host_retired.
    """
    drained_by, why = by_and_reason(by, reason)
    _set(host, check_can_drain, drained_at=Now(), drained_by=drained_by, drain_reason=why)
    bump_host(host.pk)


def check_can_drain(host: Host) -> None:
    """Raise TuningError where `drain_host` would."""
    check_not_retired(host)
    if host.is_drained:
        raise TuningError("already_drained", f"host {host} is already drained")


def undrain_host(host: Host) -> None:
    """Let the host take work again, at once. Raises TuningError, not_drained."""
    _set(host, check_can_undrain, drained_at=None, drained_by="", drain_reason="")
    bump_host(host.pk)
    advance_host(host.pk)


def check_can_undrain(host: Host) -> None:
    """Raise TuningError where `undrain_host` would."""
    if not host.is_drained:
        raise TuningError("not_drained", f"host {host} is not drained")


def retire_host(host: Host, *, by: str = "", reason: str = "") -> None:
    """End all that runs or waits on the host or for it to drive, and begin nothing there any more.

    The host's history stays. `by` is the user. Raises TuningError: already_retired.
    """
    retired_by, why = by_and_reason(by, reason)
    _set(host, check_can_retire, retired_at=Now(), retired_by=retired_by, retire_reason=why)
    why = retire_text(host)
    active = Study.objects.filter(state__in=ACTIVE_STUDY_STATES)
    studies = list(active.filter(Q(host=host) | Q(pk__in=driven_by(host))))
    for study in studies:
        stop_study(study, StudyState.CANCELLED, "host_retired", why)
    cancel_jobs(Probe.objects.filter(device__host=host), why)
    cancel_jobs(Inspection.objects.filter(host=host), why)
    close_what_was_cancelled()
    for other in {study.host_id for study in studies} - {host.pk}:
        advance_host(other)


def check_can_retire(host: Host) -> None:
    """Raise TuningError where `retire_host` would."""
    if host.is_retired:
        raise TuningError("already_retired", f"host {host} is already retired")


def unretire_host(host: Host) -> None:
    """Let the host take work again. Raises TuningError, not_retired."""
    _set(host, check_can_unretire, retired_at=None, retired_by="", retire_reason="")
    advance_host(host.pk)


def check_can_unretire(host: Host) -> None:
    """Raise TuningError where `unretire_host` would."""
    if not host.is_retired:
        raise TuningError("not_retired", f"host {host} is not retired")


def _set(host: Host, check: Callable[[Host], None], **columns: Any) -> None:
    with transaction.atomic():
        # Another user may have been faster.
        check(Host.objects.select_for_update(no_key=True).get(pk=host.pk))
        Host.objects.filter(pk=host.pk).update(**columns)
    host.refresh_from_db()
