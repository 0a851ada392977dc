"""Drains a host, for maintenance: after its current job it takes nothing more, its queue waits."""

from __future__ import annotations

from django.db.models.functions import Now

from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.studies.pause_columns import by_and_reason, when_by_and_why
from tuning.studies.retired import check_is_ours
from tuning.studies.revision import bump_host
from tuning.studies.scheduler import advance_host


def drain_host(host: Host, *, by: str = "", reason: str = "") -> None:
    """Start nothing more on the host until it is undrained.

    The current run, load or probe is finished first. `by` is the user. Raises TuningError:
    already_drained, from_elsewhere.
    """
    check_is_ours(host)
    drained_by, drain_reason = by_and_reason(by, reason)
    is_new = Host.objects.filter(pk=host.pk, drained_at=None).update(
        drained_at=Now(), drained_by=drained_by, drain_reason=drain_reason
    )
    bump_host(host.pk)
    host.refresh_from_db()
    if not is_new:
        raise TuningError("already_drained", f"host {host} is already drained")


def undrain_host(host: Host) -> None:
    """Let the host take work again, at once. Raises TuningError, not_drained."""
    was_drained = Host.objects.filter(pk=host.pk, drained_at__isnull=False).update(
        drained_at=None, drained_by="", drain_reason=""
    )
    bump_host(host.pk)
    host.refresh_from_db()
    if not was_drained:
        raise TuningError("not_drained", f"host {host} is not drained")
    advance_host(host.pk)


def drain_text(host: Host) -> str:
    """When, by whom and why the host was drained, in one line without a full stop."""
    if host.drained_at is None:
        return ""
    since = when_by_and_why(host.drained_at, host.drained_by, host.drain_reason)
    return f"host {host} is drained since {since}"
