"""Golden datasets that somebody asks a host to delete: a request, and the job that does it."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from benchmarks.inventory.here import refresh_space
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.jobs.kinds import Ending, Job
from benchmarks.models import Host, Inspection
from tuning.studies.datasets import (
    Kept,
    datasets_here,
    deletable,
    note_datasets,
    noted_datasets,
    prunable,
    take_all_off,
)
from tuning.studies.inspecting import queue_inspection


def ask_to_delete(host: Host, key: str, user: Any = None) -> Inspection:
    """Let the host delete the dataset of that name between two runs.

    Raises NoDataset for one that it has not noted, DatasetInUse for one that a study needs;
    TuningError: host_retired, host_busy.
    """
    deletable(noted_datasets(host), key)
    return queue_inspection(host, user, subject=Inspection.Subject.DATASETS, path=key)


def ask_to_prune(host: Host, user: Any = None) -> Inspection:
    """Let the host delete what its policy lets go. Raises TuningError: host_retired, host_busy."""
    return queue_inspection(host, user, subject=Inspection.Subject.DATASETS)


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


def _said(one: Kept, why: str) -> dict[str, Any]:
    return {
        "name": one.dataset.key,
        "device": str(one.device),
        "bytes": one.dataset.bytes,
        "why": why,
    }
