"""The kind of job that prepares a study: datasets, trial starts.

Before its first run, and again whenever its strategy proposes new candidates.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.source import source_of
from benchmarks.errors import BenchmarkError
from benchmarks.inventory.in_place import check_measurable, unchanged_server
from benchmarks.inventory.inspection import refresh_space
from benchmarks.jobs.heartbeat import Job
from benchmarks.jobs.kinds import JobKind
from benchmarks.jobs.unstored import Values
from benchmarks.models import RunState, Server
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.layout import DeviceLayout
from tuning.models import Study, StudyState
from tuning.studies.datasets import note_datasets
from tuning.studies.events import note_preparation
from tuning.studies.revision import bump
from tuning.studies.trials import NothingToCompare, try_candidates
from tuning.studies.waiting import pause_columns

# Loading is this share of the preparation; the rest are the trial starts.
LOADING_SHARE = 0.9


class PreparationKind(JobKind[Study]):
    """Prepares a study and reports progress on its row; afterwards the study's state is `running`.

    A preparation that is interrupted gives its claim back, so that another process starts it
    again.
    """

    name = "preparation"
    task = "tuning.prepare"
    waiting: ClassVar[Q] = Q(state=StudyState.PREPARING, claimed_by="", paused_at=None)
    running: ClassVar[Q] = Q(state=StudyState.PREPARING) & ~Q(claimed_by="")
    ours: ClassVar[Q] = running

    @property
    def rows(self) -> QuerySet[Study]:
        return Study.objects.select_related("server")

    def changes(self, row_id: int) -> None:
        bump([row_id])

    def changed(self, row_id: int) -> None:
        note_preparation(Study.objects.select_related("host").get(pk=row_id))

    def claimed(self) -> Values:
        """When it began; its state says already that it is prepared."""
        return {"started_at": Coalesce("started_at", Now())}

    def work(self, job: Job[Study]) -> Values:
        study = job.row

        def report(text: str) -> None:
            _report(job, LOADING_SHARE, text)

        binaries = {server.pk: unchanged_server(server) for server in servers_of(study)}
        for device in study.devices.order_by("pk"):
            check_measurable(device)
        for binary in binaries.values():
            _load_all(job, binary)
        refresh_space(study.host)
        note_datasets(study.host)
        try:
            try_candidates(study, binaries, report=report, should_stop=job.should_stop)
        except NothingToCompare as nothing:
            return _ended(StudyState.FAILED, nothing.code, str(nothing), nothing.log_tail)
        return {
            "state": StudyState.RUNNING.value,
            "claimed_by": "",
            "preparing_fraction": 1,
            # Reset: every preparation of a search gets all its attempts.
            "prepare_attempts": 0,
        }

    def failed(self, row: Study, error: BenchmarkError) -> Values:
        if error.outcome is Outcome.LOST:  # the server was killed from outside
            return self.lost(row, str(error))
        if error.outcome is Outcome.DISK_FULL:  # until somebody has made room
            return _paused(str(error))
        if error.outcome is not Outcome.INTERNAL_ERROR and _has_results(row):
            return _paused(str(error))
        return _ended(StudyState.FAILED, error.code, str(error), error.log_tail)

    def cancelled(self, row: Study) -> Values:
        return _ended(StudyState.CANCELLED, "cancelled", "cancelled by the user")

    def given_back(self, row: Study, reason: str) -> Values:
        return {"claimed_by": "", "preparing_fraction": 0}

    def lost(self, row: Study, reason: str) -> Values:
        """Start it again as often as a run: what killed one worker may kill the next."""
        attempts = row.prepare_attempts + 1
        if attempts > settings.LOST_RUN_RETRIES:
            text = f"the preparation was started {attempts} times and never finished: {reason}"
            if _has_results(row):
                return _paused(text) | {"prepare_attempts": 0}
            return _ended(StudyState.FAILED, "lost", text)
        return self.given_back(row, reason) | {"prepare_attempts": attempts}


def servers_of(study: Study) -> list[Server]:
    """Return the servers that a study measures: one, or the two of a gate."""
    others = Server.objects.filter(candidates__study=study, candidates__refusal="")
    return [study.server, *others.exclude(pk=study.server_id).order_by("pk").distinct()]


def _has_results(study: Study) -> bool:
    return study.slots.filter(run__state=RunState.OK).exists()


def _paused(reason: str) -> Values:
    """Nothing is given up for a full disk, nor what was measured for a device that is away."""
    columns = pause_columns("the advisor", reason)
    return {"claimed_by": "", "preparing_fraction": 0, **columns}


def _ended(state: StudyState, code: str, reason: str, log_tail: str = "") -> Values:
    values = {"reason_code": code, "reason": reason, "log_tail": log_tail, "claimed_by": ""}
    return {"state": state.value, **values}


def _report(job: Job[Study], fraction: float, text: str) -> None:
    job.report(preparing_fraction=fraction, preparing_text=text[:200], revision=F("revision") + 1)


def _load_all(job: Job[Study], binary: ServerBinary) -> None:
    study = job.row

    def progress(fraction: float, phase: str) -> None:
        _report(job, fraction * LOADING_SHARE, f"loading the dataset: {phase}")

    # Emulated devices share the dataset of the real one below them.
    for directory in sorted(set(study.devices.values_list("data_dir", flat=True))):
        layout = DeviceLayout(data_dir=Path(directory))
        for source in {source_of(workload.kind) for workload in study.workloads.all()}:
            ensure_dataset(
                source,
                binary,
                device_dir=layout.root,
                progress=progress,
                should_stop=job.should_stop,
            )
