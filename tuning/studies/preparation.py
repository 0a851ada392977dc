"""Prepares a study before its first run, with progress on its row: datasets, trial starts."""

from __future__ import annotations

import logging
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.progress import LoadProgress, ProgressCallback
from benchmarks.errors import BenchmarkError, RunFailed
from benchmarks.inventory.devices import check_measurable
from benchmarks.jobs import heartbeat
from benchmarks.jobs.claims import claimant
from benchmarks.jobs.heartbeat import Heartbeat, measuring_alone
from benchmarks.servers.binary import ServerBinary, identify
from benchmarks.storage.layout import DeviceLayout
from tuning.models import Study, StudyState
from tuning.studies.scheduler import end_study
from tuning.studies.trials import NothingToCompare, try_candidates

logger = logging.getLogger(__name__)

# Loading is this share of the preparation; the rest are the trial starts.
LOADING_SHARE = 0.9


def prepare_study(study_id: int) -> None:
    """Bring every dataset the study needs; then the study's state is `running`.

    A failure ends the study with its reason; a stopped worker only gives the claim back.
    """
    with measuring_alone() as held:
        if not held:
            return
        claimed = Study.objects.filter(
            pk=study_id, state=StudyState.PREPARING, claimed_by=""
        ).update(claimed_by=claimant(), heartbeat_at=timezone.now())
        if claimed:
            _prepare_claimed(Study.objects.get(pk=study_id))


def _prepare_claimed(study: Study) -> None:
    mine = Study.objects.filter(pk=study.pk, state=StudyState.PREPARING, claimed_by=claimant())
    latest: dict[str, object] = {}

    def beat() -> str:
        mine.update(heartbeat_at=timezone.now(), **latest)
        return mine.values_list("stop_request", flat=True).first() or ""

    def progress(step: LoadProgress) -> None:
        latest.update(
            preparing_fraction=step.fraction * LOADING_SHARE,
            preparing_text=f"loading the dataset: {step.phase}"[:200],
        )

    def report(text: str) -> None:
        latest.update(preparing_fraction=LOADING_SHARE, preparing_text=text[:200])

    with Heartbeat(beat) as pulse:
        try:
            binary = identify(Path(study.server.path))
            for device in study.devices.order_by("pk"):
                check_measurable(device)
            _load_all(study, binary, progress, pulse)
            try_candidates(study, binary, report=report, should_stop=pulse.should_stop)
        except RunFailed as failure:
            if pulse.stop_request in (heartbeat.WORKER_STOPPING, heartbeat.WORKER_DIED):
                mine.update(claimed_by="", stop_request="", preparing_fraction=0)
            elif pulse.stop_request:
                mine.update(claimed_by="")
                end_study(study, StudyState.CANCELLED, "cancelled", "cancelled by the user")
            else:
                _fail(study, failure.code, str(failure), failure.log_tail)
        except BenchmarkError as failure:
            _fail(study, failure.code, str(failure), failure.log_tail)
        except NothingToCompare as nothing:
            _fail(study, nothing.code, str(nothing), nothing.log_tail)
        except Exception as bug:
            logger.exception("study %s: internal error while loading", study.pk)
            _fail(study, "internal_error", f"{type(bug).__name__}: {bug}")
        except BaseException:
            mine.update(claimed_by="")
            raise
        else:
            mine.update(state=StudyState.RUNNING, claimed_by="", preparing_fraction=1)


def _load_all(
    study: Study, binary: ServerBinary, progress: ProgressCallback, pulse: Heartbeat
) -> None:
    # Emulated devices share the dataset of the real one that they are made of.
    for place in sorted(set(study.devices.values_list("data_dir", flat=True))):
        layout = DeviceLayout(data_dir=Path(place))
        for warehouses in {workload.warehouses for workload in study.workloads.all()}:
            ensure_dataset(
                binary,
                device_dir=layout.root,
                warehouses=warehouses,
                registry=settings.INSTANCE_REGISTRY,
                progress=progress,
                should_stop=pulse.should_stop,
            )


def _fail(study: Study, code: str, reason: str, log_tail: str = "") -> None:
    end_study(study, StudyState.FAILED, code, reason, log_tail)
