"""Whether a host is retired, that is out of use, and what is refused then."""

from __future__ import annotations

from django.utils import timezone

from benchmarks.models import Host
from tuning.errors import TuningError


def check_not_retired(host: Host) -> None:
    """Raises TuningError, host_retired."""
    if host.is_retired:
        raise TuningError("host_retired", retire_text(host), field="host")


def retire_text(host: Host) -> str:
    """When, by whom and why the host was retired, in one line without a full stop."""
    if host.retired_at is None:
        return ""
    since = timezone.localtime(host.retired_at)
    by = f" by {host.retired_by}" if host.retired_by else ""
    why = f": {host.retire_reason}" if host.retire_reason else ""
    return f"host {host} was retired on {since:%Y-%m-%d %H:%M %Z}{by}{why}"
