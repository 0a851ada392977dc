"""All kinds of jobs of a host, and the sweep that looks after them.

A new kind is a module of its own and a line in KINDS.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Exists, OuterRef, Q

from benchmarks.jobs.crash_tests import CrashTestKind
from benchmarks.jobs.kinds import JobKind
from benchmarks.jobs.loads import LoadKind
from benchmarks.jobs.probes import ProbeKind
from benchmarks.jobs.runs import RunKind
from benchmarks.jobs.sweep import Sweeper
from tuning.models import Study
from tuning.studies.early_stop import cut_rule_of
from tuning.studies.events import note_crash_test, note_run
from tuning.studies.preparation import PreparationKind
from tuning.studies.revision import bump
from tuning.studies.scheduler import advance_host
from tuning.studies.tidying import HostInspectionKind


class StudyRunKind(RunKind):
    """Runs of studies. None starts while its study is paused, even if it was sent already."""

    waiting: ClassVar[Q] = RunKind.waiting & ~Q(
        Exists(Study.objects.filter(slots__run=OuterRef("pk"), paused_at__isnull=False))
    )

    def changes(self, row_id: int) -> None:
        bump(Study.objects.filter(slots__run=row_id))

    def changed(self, row_id: int) -> None:
        note_run(row_id)


class StudyCrashTestKind(CrashTestKind):
    """Crash tests of studies; none starts while its study is paused."""

    waiting: ClassVar[Q] = CrashTestKind.waiting & ~Q(
        Exists(Study.objects.filter(crash_slots__test=OuterRef("pk"), paused_at__isnull=False))
    )

    def changes(self, row_id: int) -> None:
        bump(Study.objects.filter(crash_slots__test=row_id))

    def changed(self, row_id: int) -> None:
        note_crash_test(row_id)


KINDS: tuple[JobKind[Any], ...] = (
    PreparationKind(),
    StudyRunKind(cut_rule=cut_rule_of, wake=advance_host),
    ProbeKind(),
    HostInspectionKind(),
    StudyCrashTestKind(wake=advance_host),
    LoadKind(),
)

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
