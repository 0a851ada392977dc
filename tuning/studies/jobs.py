"""All kinds of jobs of a host, what a study adds to them, and the sweep that looks after them.

A new kind is a module of its own and a line in KINDS.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from benchmarks.inventory.inspection import refresh_space
from benchmarks.jobs.heartbeat import Job
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.jobs.kinds import JobKind, ended
from benchmarks.jobs.loads import LoadKind
from benchmarks.jobs.probes import ProbeKind
from benchmarks.jobs.runs import CrashTestKind, RunKind
from benchmarks.jobs.sweep import Sweeper
from benchmarks.jobs.unstored import Values
from benchmarks.models import Inspection, Run, RunState, Sample
from benchmarks.outcomes import CutRule
from tuning.models import Slot, SlotPurpose, Study
from tuning.strategy.early_stop import Reference, cut_rule
from tuning.studies.continuation import strategy_of
from tuning.studies.datasets import (
    Kept,
    datasets_here,
    deletable,
    note_datasets,
    prunable,
    take_all_off,
)
from tuning.studies.events import note_crash_test, note_run
from tuning.studies.preparation import PreparationKind
from tuning.studies.revision import bump
from tuning.studies.scheduler import advance_host

# Runs of these purposes must yield a figure, so none of them is cut short.
_MEASURED_WHOLE = (
    SlotPurpose.CONFIRMATION,
    SlotPurpose.ABLATION,
    SlotPurpose.REDUCED,
    SlotPurpose.GATE,
)


def cut_rule_of(run: Run) -> CutRule | None:
    """The rule that ends this run early; None if it must be measured to its end.

    It compares with the baseline's runs of the same block, or of the last block that has any.
    """
    slot = Slot.objects.filter(run=run).select_related("study", "candidate").first()
    if slot is None or slot.candidate.is_baseline or slot.purpose in _MEASURED_WHOLE:
        return None
    return cut_rule(_references(slot)) if strategy_of(slot.study).cuts_short else None


def _references(slot: Slot) -> list[Reference]:
    """The baseline's runs of the newest block, up to the slot's, that has any."""
    measured = Slot.objects.exclude(purpose__in=_MEASURED_WHOLE).filter(
        study=slot.study_id,
        device=slot.device_id,
        workload=slot.workload_id,
        block__lte=slot.block,
        candidate__is_baseline=True,
        run__state=RunState.OK,
    )
    for block in measured.order_by("-block").values_list("block", flat=True).distinct():
        there = measured.filter(block=block).values_list("run_id", "run__throughput")
        if usable := [one for run in there if (one := _reference(*run)) is not None]:
            return usable
    return []


def _reference(run: int, throughput: float | None) -> Reference | None:
    """The run up to the first second without a count; None if it has no counts."""
    commits: list[int] = []
    completed = 0
    seconds = Sample.objects.filter(run=run, second__gte=0).order_by("second")
    for second, count, transactions in seconds.values_list("second", "commits", "completed"):
        if second != len(commits) or count is None:
            break
        commits.append(count)
        completed += transactions or 0
    if not any(commits) or throughput is None:
        return None
    return Reference(commits, completed, throughput)


def _not_paused(job: str) -> Q:
    """Return the condition that the study of a job is not paused; `job` is the way to its row."""
    return ~Q(Exists(Study.objects.filter(**{job: OuterRef("pk")}, paused_at__isnull=False)))


class StudyRunKind(RunKind):
    """Runs of studies. None starts while its study is paused, even if it was sent already."""

    waiting: ClassVar[Q] = RunKind.waiting & _not_paused("slots__run")

    def cut_rule(self, run: Run) -> CutRule | None:
        return cut_rule_of(run)

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

    def work(self, job: Job[Inspection]) -> Values:
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
        return ended("ok", answer={"deleted": [_said(*one) for one in found]})


def _said(kept: Kept, why: str) -> dict[str, Any]:
    dataset = kept.dataset
    return {"name": dataset.key, "device": str(kept.device), "bytes": dataset.bytes, "why": why}


KINDS: tuple[JobKind[Any], ...] = (
    PreparationKind(),
    StudyRunKind(),
    ProbeKind(),
    HostInspectionKind(),
    StudyCrashTestKind(),
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
