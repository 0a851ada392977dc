"""Asks a host to look at itself, or at a server or device that somebody typed in."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from benchmarks.errors import about
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.presence import is_silent
from benchmarks.models import Host, Inspection, JobState
from tuning.errors import BadRequest, TuningError
from tuning.requests.device import DeviceRequest
from tuning.studies.host_checks import hold_in_use
from tuning.studies.scheduler import advance_host, is_measuring

MAX_WAITING = 20
_MAX_PATH = 1024
#: Answers are of use for as long as a form is being filled in.
_KEPT = timedelta(days=1)
#: An idle host looks within two seconds; another home on its machine may be measuring.
_SOON = timedelta(seconds=10)


def inspect_again(host: Host, user: Any = None) -> Inspection:
    """Let the host look at all that it has. Raises TuningError: host_retired, host_busy."""
    return queue_inspection(host, user)


def inspect_server(host: Host, path: str, *, lists: bool, user: Any = None) -> Inspection:
    """Let the host look at a server program. With `lists`, an administrator's word, it may be
    started from then on; without it the path has to be one that the host has already.

    Raises BadRequest for what is no path, NotListed, NotAServer and NotInspected with the field
    "server", TuningError: host_retired, host_busy.
    """
    with about("server"):
        named = _path(path, "server")
        if not lists:
            inventory_of(host).server(named)
    return queue_inspection(
        host, user, subject=Inspection.Subject.SERVER, path=str(named), lists=lists
    )


def inspect_device(
    host: Host, request: DeviceRequest, *, lists: bool, user: Any = None
) -> Inspection:
    """Let the host look at the directories of a device, and whether its limits can be had.

    `lists` as for a server. Raises like `inspect_server`, with the fields "path" and "log_dir".
    """
    for field, given in (("path", request.path), ("log_dir", request.log_dir)):
        if given is None:
            continue
        named = _path(str(given), field)
        with about(field):
            if not lists:
                inventory_of(host).directory(named)
    return queue_inspection(
        host,
        user,
        subject=Inspection.Subject.DEVICE,
        path=str(request.path or ""),
        log_dir=str(request.log_dir or ""),
        emulate=request.emulate,
        memory_bytes=request.memory_bytes,
        lists=lists,
    )


def waiting_text(row: Inspection) -> str:
    """What an inspection that is not finished waits for, without a full stop; "" once it is."""
    if row.is_finished:
        return ""
    if row.state == JobState.QUEUED:
        if is_silent(row.host_id):
            return f"waits for the worker of host {row.host}, which does not report"
        if is_measuring(row.host_id):
            return f"waits: host {row.host} is measuring, and looks when its current job ends"
        if Inspection.objects.filter(pk=row.pk, queued_at__lt=Now() - _SOON).exists():
            return f"waits: something else is measured on the machine of host {row.host}"
    return f"host {row.host} is looking"


def _path(text: str, field: str) -> Path:
    path = Path(text)
    if not path.is_absolute() or "\0" in text or len(text) > _MAX_PATH:
        raise BadRequest(f"{text[:80]!r} is not an absolute path", field=field)
    return path


def queue_inspection(host: Host, user: Any, **values: Any) -> Inspection:
    """A row with these columns, which the host does between two runs.

    Raises TuningError: host_retired, host_busy.
    """
    with transaction.atomic():
        hold_in_use(host)
        there = Inspection.objects.filter(host=host)
        there.filter(finished_at__lt=Now() - _KEPT).delete()
        if there.filter(state=JobState.QUEUED).count() >= MAX_WAITING:
            raise TuningError(
                "host_busy", f"{MAX_WAITING} inspections wait for host {host} already"
            )
        row = Inspection.objects.create(host=host, created_by=user, **values)
        transaction.on_commit(lambda: advance_host(host.pk))
    return row
