"""Whether a host is retired, that is out of use, and what is refused then."""

from __future__ import annotations

from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.studies.pause_columns import when_by_and_why


def check_not_retired(host: Host) -> None:
    """Raises TuningError: host_retired; from_elsewhere for one that is none of ours."""
    check_is_ours(host)
    if host.is_retired:
        raise TuningError("host_retired", retire_text(host), field="host")


def check_is_ours(host: Host) -> None:
    """Raises TuningError, from_elsewhere, for a host that came with a bundle."""
    if host.imported is not None:
        raise TuningError(
            "from_elsewhere", "this was measured elsewhere: it is only looked at here"
        )


def retire_text(host: Host) -> str:
    """When, by whom and why the host was retired, in one line without a full stop."""
    if host.retired_at is None:
        return ""
    on = when_by_and_why(host.retired_at, host.retired_by, host.retire_reason)
    return f"host {host} was retired on {on}"
