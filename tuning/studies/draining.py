"""Drains a host, for maintenance: after its current job it takes nothing more, its queue waits."""

from __future__ import annotations

from django.utils import timezone

from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.studies.pause_columns import MAX_PAUSE_REASON, MAX_PAUSED_BY, one_line
from tuning.studies.scheduler import advance_host


def drain_host(host: Host, *, by: str = "", reason: str = "") -> None:
    """Start nothing more on the host until it is undrained. Raises TuningError, already_drained.

    The current run, load or probe is finished first. `by` is the user.
    """
    is_new = Host.objects.filter(pk=host.pk, drained_at=None).update(
        drained_at=timezone.now(),
        drained_by=one_line(by)[:MAX_PAUSED_BY],
        drain_reason=one_line(reason)[:MAX_PAUSE_REASON],
    )
    host.refresh_from_db()
    if not is_new:
        raise TuningError("already_drained", f"host {host} is already drained")


def undrain_host(host: Host) -> None:
    """Let the host take work again, at once. Raises TuningError, not_drained."""
    was_drained = Host.objects.filter(pk=host.pk, drained_at__isnull=False).update(
        drained_at=None, drained_by="", drain_reason=""
    )
    host.refresh_from_db()
    if not was_drained:
        raise TuningError("not_drained", f"host {host} is not drained")
    advance_host(host.pk)


def drain_text(host: Host) -> str:
    """When, by whom and why the host was drained, in one line without a full stop."""
    if host.drained_at is None:
        return ""
    since = timezone.localtime(host.drained_at)
    by = f" by {host.drained_by}" if host.drained_by else ""
    why = f": {host.drain_reason}" if host.drain_reason else ""
    return f"host {host} is drained since {since:%Y-%m-%d %H:%M %Z}{by}{why}"
