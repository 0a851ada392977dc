"""What each host does now; it does one thing at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from benchmarks.models import (
    CrashTest,
    Host,
    JobState,
    LoadJob,
    Probe,
    Run,
    RunState,
)
from benchmarks.telemetry.live import LiveSecond
from tuning.models import Study, StudyState
from tuning.results.live_run import current_tpmP


class HostState(StrEnum):
    """In a word; the first that applies, in this order."""

    RETIRED = "retired"
    SILENT = "silent"
    DRAINED = "drained"
    DRAINING = "draining"
    MEASURING = "measuring"
    PROBING = "probing"
    PREPARING = "preparing"
    DRIVING = "driving"
    WAITING = "waiting"
    IDLE = "idle"


@dataclass(frozen=True)
class CurrentJob:
    """What a host does now: `what` and `step` in words, `since` when, for which study.

    `study` and `study_name` are None and "" for a probe, `device` is what it measures if known,
    `live` the last minute of a run that is driven, as it is stored.
    """

    state: HostState
    what: str
    step: str
    since: datetime | None
    study: int | None = None
    study_name: str = ""
    device: int | None = None
    live: Sequence[list[Any]] = ()

    @property
    def tpmP(self) -> float | None:
        """That of the last seconds, while a run is driven."""
        return current_tpmP([LiveSecond.from_json(second) for second in self.live])


#: By their ids, or a query for them.
Hosts = Collection[int] | QuerySet[Host]
_IN_USE = Host.objects.filter(retired_at=None).order_by()
#: By the id of the host.
Jobs = dict[int, CurrentJob]


def measured_runs() -> QuerySet[Run]:
    """The runs that hosts in use measure now, at most one on each."""
    return Run.objects.filter(host__in=_IN_USE, state=RunState.RUNNING)


def current_jobs(of: Collection[int] | None = None, *, newest: int | None = None) -> Jobs:
    """By the id of the host what it does; there is at most one job at a time.

    `of`: only these, by their ids, else all in use; `newest`: of so many that measure, those of
    the newest studies.
    """
    rows: Hosts = _IN_USE if of is None else of
    found = _measuring(rows, newest)
    for kind in (_recovering, _probing, _driving, _preparing):
        found |= kind(rows)
    return found


def _measuring(rows: Hosts, newest: int | None) -> Jobs:
    """Those of the newest studies first."""
    measured = Run.objects.filter(host__in=rows, state=RunState.RUNNING)
    return {
        run["host"]: CurrentJob(
            HostState.MEASURING,
            f"{run['slot__candidate__name']}, block {run['slot__block']}",
            run["step"] or "starting",
            run["started_at"],
            run["slot__study"],
            run["slot__study__name"] or "",
            run["device"],
            run["live"] or (),
        )
        for run in measured.order_by("-slot__study_id", "host_id").values(
            *("host", "step", "started_at", "device", "live", "slot__block"),
            *("slot__candidate__name", "slot__study", "slot__study__name"),
        )[:newest]
    }


def _recovering(rows: Hosts) -> Jobs:
    return {
        test["host"]: CurrentJob(
            HostState.MEASURING,
            f"crash recovery of {test['slot__candidate__name']}",
            test["step"] or "starting",
            test["started_at"],
            test["slot__study"],
            test["slot__study__name"] or "",
            test["device"],
        )
        for test in CrashTest.objects.filter(host__in=rows, state=JobState.RUNNING).values(
            *("host", "step", "started_at", "device"),
            *("slot__candidate__name", "slot__study", "slot__study__name"),
        )
    }


def _probing(rows: Hosts) -> Jobs:
    return {
        probe["device__host"]: CurrentJob(
            HostState.PROBING,
            f"probe of {probe['device__data_dir']}",
            f"{100 * probe['fraction']:.0f} %",
            probe["started_at"],
            device=probe["device"],
        )
        for probe in Probe.objects.filter(device__host__in=rows, state=JobState.RUNNING).values(
            "device", "device__host", "device__data_dir", "fraction", "started_at"
        )
    }


def _driving(rows: Hosts) -> Jobs:
    return {
        load["host"]: CurrentJob(
            HostState.DRIVING,
            f"drives {load['run__host__name'] or load['crash_test__host__name']}",
            load["step"] or "starting",
            load["started_at"],
            load["run__slot__study"],
            load["run__slot__study__name"] or "",
        )
        for load in LoadJob.objects.filter(host__in=rows, state=JobState.RUNNING).values(
            *("host", "step", "started_at", "run__host__name", "crash_test__host__name"),
            *("run__slot__study", "run__slot__study__name"),
        )
    }


def _preparing(rows: Hosts) -> Jobs:
    preparing = Study.objects.filter(host__in=rows, state=StudyState.PREPARING)
    return {
        study["host"]: CurrentJob(
            HostState.PREPARING,
            study["preparing_text"] or "loading the dataset",
            f"{100 * share:.0f} %" if (share := study["preparing_fraction"]) else "",
            study["started_at"],
            study["pk"],
            study["name"],
        )
        for study in preparing.exclude(claimed_by="").values(
            "pk", "name", "host", "preparing_text", "preparing_fraction", "started_at"
        )
    }
