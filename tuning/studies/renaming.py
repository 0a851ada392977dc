"""Gives a host another name."""

from __future__ import annotations

from benchmarks.jobs import presence
from benchmarks.models import Host
from tuning.studies.retired import check_is_ours


def rename_host(host: Host, name: str) -> None:
    """Its history stays with it. Raises TuningError, from_elsewhere, and what renaming raises.

    A worker takes the host of its name: one that came with a bundle must never get such a name.
    """
    check_is_ours(host)
    presence.rename_host(host, name)
