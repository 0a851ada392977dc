"""Whether a host is drained or retired, and which requests are refused then."""

from __future__ import annotations

from benchmarks.models import Host
from tuning.errors import TuningError
from tuning.models import Study
from tuning.studies.load_hosts import load_hosts_of
from tuning.studies.pause_columns import when_by_and_why


def check_not_retired(host: Host) -> None:
    """Raises TuningError, host_retired."""
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


def retire_text(host: Host) -> str:
    """When, by whom and why the host was retired, in one line without a full stop."""
    if host.retired_at is None:
        return ""
    on = when_by_and_why(host.retired_at, host.retired_by, host.retire_reason)
    return f"host {host} was retired on {on}"


def drain_text(host: Host) -> str:
    """When, by whom and why the host was drained, in one line without a full stop."""
    if host.drained_at is None:
        return ""
    since = when_by_and_why(host.drained_at, host.drained_by, host.drain_reason)
    return f"host {host} is drained since {since}"
