"""All kinds of jobs of a host, and the sweep that looks after them.

A new kind is a module of its own and a line in KINDS.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from benchmarks.inventory.here import refresh_space
from benchmarks.jobs.crash_tests import CrashTestKind
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.jobs.kinds import Ending, Job, JobKind
from benchmarks.jobs.loads import LoadKind
from benchmarks.jobs.probes import ProbeKind
from benchmarks.jobs.runs import RunKind
from benchmarks.jobs.sweep import Sweeper
from benchmarks.models import Inspection
from tuning.models import Study
from tuning.studies.datasets import (
    Kept,
    datasets_here,
    deletable,
    note_datasets,
    prunable,
    take_all_off,
)
from tuning.studies.early_stop import cut_rule_of
from tuning.studies.events import note_crash_test, note_run
from tuning.studies.preparation import PreparationKind
from tuning.studies.revision import bump
from tuning.studies.scheduler import advance_host


def _not_paused(job: str) -> Q:
    """Return the condition that the study of a job is not paused; `job` is the way to its row."""
    return ~Q(Exists(Study.objects.filter(**{job: OuterRef("pk")}, paused_at__isnull=False)))


class StudyRunKind(RunKind):
    """Runs of studies. None starts while its study is paused, even if it was sent already."""

    waiting: ClassVar[Q] = RunKind.waiting & _not_paused("slots__run")

    def changes(self, row_id: int) -> None:
        bump(Study.objects.filter(slots__run=row_id))

    def changed(self, row_id: int) -> None:
        note_run(row_id)


class StudyCrashTestKind(CrashTestKind):
    """Crash tests of studies; none starts while its study is paused."""

    waiting: ClassVar[Q] = CrashTestKind.waiting & _not_paused("crash_slots__test")

    def changes(self, row_id: int) -> None:
        bump(Study.objects.filter(crash_slots__test=row_id))

    def changed(self, row_id: int) -> None:
        note_crash_test(row_id)


class HostInspectionKind(InspectionKind):
    """Inspections, and the deletion of datasets: only here it is known which a study needs."""

    def work(self, job: Job[Inspection]) -> Ending:
        """The job holds the machine, so that nothing copies what is deleted."""
        row = job.row
        if row.subject != Inspection.Subject.DATASETS:
            return super().work(job)
        try:
            if row.path:
                found = [(one, "") for one in deletable(datasets_here(row.host), row.path)]
            else:
                found = prunable(row.host, settings.DATASET_DAYS)
            take_all_off([one for one, _ in found])
        finally:
            refresh_space(row.host)
            note_datasets(row.host)
        return Ending({"state": "ok", "answer": {"deleted": [_said(*one) for one in found]}})


def _said(kept: Kept, why: str) -> dict[str, Any]:
    dataset = kept.dataset
    return {"name": dataset.key, "device": str(kept.device), "bytes": dataset.bytes, "why": why}


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
