"""The states of a host that a user sets: drained for maintenance, retired."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from benchmarks.jobs.cancelling import cancel_jobs
from benchmarks.models import Host, Inspection, Probe
from tuning.errors import TuningError
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.studies.absence import close_what_was_cancelled, stop_study
from tuning.studies.revision import bump_host
from tuning.studies.scheduler import advance_host
from tuning.studies.waiting import by_and_reason, check_not_retired, driven_by, retire_text


def drain_host(host: Host, *, by: str = "", reason: str = "") -> None:
    """Start nothing more on the host until it is undrained; its queue waits.

    The current run, load or probe is finished first. `by` is the user.
    Raises TuningError: already_drained, host_retired.
    """
    drained_by, why = by_and_reason(by, reason)
    check_can_drain(host)
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
    """Set or empty a state of the host. `check` raises where another user did so before."""
    at = next(name for name in columns if name.endswith("_at"))
    unchanged = {f"{at}__isnull": columns[at] is not None}
    is_new = Host.objects.filter(pk=host.pk, **unchanged).update(**columns)
    host.refresh_from_db()
    if not is_new:
        check(host)
