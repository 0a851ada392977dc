"""Finds jobs of a host that died or were not stored, and messages that never arrived."""

from __future__ import annotations

from benchmarks.jobs.sweep import Sweeper
from tuning.studies.jobs import KINDS
from tuning.studies.scheduler import advance_host

_SWEEPER = Sweeper(KINDS)


def sweep_host(host_id: int) -> None:
    """Mark lost jobs and take the host's next step, which queues them again. Safe to repeat."""
    recover_host(host_id)
    advance_host(host_id)


def recover_host(host_id: int) -> bool:
    """Store pending results, mark dead jobs as lost, delete what they left behind.

    Returns whether no job is running any more.
    """
    return _SWEEPER.sweep(host_id)


def request_stop(host_id: int) -> None:
    """The worker is shutting down: ask the current job of this host to end within seconds."""
    _SWEEPER.request_stop(host_id)
