"""Paused studies, drained and retired hosts: columns, sentences and refusals."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.models import Study
from tuning.requests.study import MAX_PAUSE_REASON
from tuning.studies.waiting import load_hosts_of

# The length of a column.
MAX_PAUSED_BY = 150


def pause_columns(by: str, reason: str) -> dict[str, Any]:
    """Return the columns of a study that is paused now."""
    paused_by, pause_reason = by_and_reason(by, reason)
    return {
        "paused_at": timezone.now(),
        "paused_by": paused_by,
        "pause_reason": pause_reason,
    }


def by_and_reason(by: str, reason: str) -> tuple[str, str]:
    """Return both texts, each as one line that fits its column."""
    return _one_line(by)[:MAX_PAUSED_BY], _one_line(reason)[:MAX_PAUSE_REASON]


def pause_text(study: Study) -> str:
    """Return when, by whom and why a study was paused, without a full stop; "" if it is not."""
    since = _when_by_and_why(study.paused_at, study.paused_by, study.pause_reason)
    return since and f"paused since {since}"


def drain_text(host: Host) -> str:
    """Return when, by whom and why the host was drained, likewise."""
    since = _when_by_and_why(host.drained_at, host.drained_by, host.drain_reason)
    return since and f"host {host} is drained since {since}"


def retire_text(host: Host) -> str:
    """Return when, by whom and why the host was retired, likewise."""
    on = _when_by_and_why(host.retired_at, host.retired_by, host.retire_reason)
    return on and f"host {host} was retired on {on}"


def check_not_retired(host: Host) -> None:
    """Raise TuningError, host_retired, for a retired host."""
    if host.is_retired:
        raise TuningError("host_retired", retire_text(host), field="host")


def check_none_retired(study: Study) -> None:
    """Raise TuningError, device_retired or host_retired, if no further run of the study can be."""
    check_not_retired(study.host)
    for load_host in load_hosts_of(study):
        check_not_retired(load_host)
    if gone := study.devices.exclude(retired_at=None).first():
        raise TuningError("device_retired", f"{gone}: another device is in its place now")


def hold_in_use(host: Host) -> None:
    """Keep the host from being retired until the end of this transaction.

    Whoever stores a study, probe or inspection calls this in the same transaction: a host that
    retires afterwards finds the row and ends it. Raises TuningError like `check_not_retired`.
    """
    check_not_retired(Host.objects.select_for_update(no_key=True).get(pk=host.pk))


def _when_by_and_why(at: datetime | None, by: str, reason: str) -> str:
    """Return such as `2025-01-31 10:00 UTC by ann: a new kernel`; "" without a time."""
    if at is None:
        return ""
    who = f" by {by}" if by else ""
    why = f": {reason}" if reason else ""
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M %Z}{who}{why}"


def _one_line(text: str) -> str:
    """Return the text without line breaks, repeated blanks and what cannot be printed."""
    return "".join(filter(str.isprintable, " ".join(text.split())))
