"""The current job of each host, and the run that is driven there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from benchmarks.drivers.workloads import unit_of
from benchmarks.models import CrashTest, Host, JobState, LoadJob, Probe, Run, RunState
from benchmarks.telemetry.live import LiveSecond
from tuning.models import Study, StudyState

# The current figure is the mean of so many seconds: a single one jumps.
_MEAN_OF = 10


class HostState(StrEnum):
    """The state of a host in a word; the first that applies, in this order."""

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
    """A host's job: `what` and `step` in words, `since` when, for which study.

    study, study_name: None and "" for a probe. device: what is measured, if known. live: the last
    minute of a run that is driven, as it is stored. unit: that of its throughput.
    """

    state: HostState
    what: str
    step: str
    since: datetime | None
    study: int | None = None
    study_name: str = ""
    device: int | None = None
    live: Sequence[list[Any]] = ()
    unit: str = ""

    @property
    def throughput(self) -> float | None:
        """Transactions per minute in the last seconds, while a run is driven."""
        return current_throughput([LiveSecond(*second) for second in self.live])


_IN_USE = Host.objects.filter(retired_at=None).order_by()
#: Jobs by the id of their host.
Jobs = dict[int, CurrentJob]


def live_run(study_id: int) -> Run | None:
    """Return the study's run that is driven now; None while nothing is driven."""
    driven = Run.objects.filter(slot__study=study_id, state=RunState.RUNNING, live__isnull=False)
    related = driven.select_related("slot__candidate", "workload")
    return next((run for run in related if run.live), None)


def current_throughput(seconds: list[LiveSecond]) -> float | None:
    """Return transactions per minute by the newest of these seconds; None without a count."""
    seen = [second.completed for second in seconds[-_MEAN_OF:] if second.completed is not None]
    return 60 * sum(seen) / len(seen) if seen else None


def current_jobs(of: Collection[int] | None = None) -> Jobs:
    """Return what each host does, by its id. of: ids of hosts; None for all in use."""
    hosts: Collection[int] | QuerySet[Host] = _IN_USE if of is None else of
    there: dict[str, Any] = {"host__in": hosts, "state": JobState.RUNNING}
    columns = "host", "step", "started_at", "slot__study", "slot__study__name", "device"
    runs = Run.objects.filter(**there)
    tests = CrashTest.objects.filter(**there)
    probes = Probe.objects.filter(device__host__in=hosts, state=JobState.RUNNING)
    loads = LoadJob.objects.filter(**there)
    preparing = Study.objects.filter(host__in=hosts, state=StudyState.PREPARING)
    found: Jobs = {}
    for *seen, live, workload, name, block in runs.values_list(
        *columns, "live", "workload__name", "slot__candidate__name", "slot__block"
    ):
        what, unit = f"{name}, block {block}", unit_of(workload)
        found |= _of_study(HostState.MEASURING, what, seen, live or (), unit)
    for *seen, name in tests.values_list(*columns, "slot__candidate__name"):
        found |= _of_study(HostState.MEASURING, f"crash recovery of {name}", seen)
    for host, directory, share, since, device in probes.values_list(
        "device__host", "device__data_dir", "fraction", "started_at", "device"
    ):
        what, step = f"probe of {directory}", f"{100 * share:.0f} %"
        found[host] = CurrentJob(HostState.PROBING, what, step, since, device=device)
    for *seen, measured in loads.values_list(
        *("host", "step", "started_at"),
        # A load is for a run or for a crash test.
        Coalesce("run__slot__study", "crash_test__slot__study"),
        Coalesce("run__slot__study__name", "crash_test__slot__study__name"),
        Coalesce("run__host__name", "crash_test__host__name"),
    ):
        found |= _of_study(HostState.DRIVING, f"drives {measured}", [*seen, None])
    for host, text, share, since, study, name in preparing.exclude(claimed_by="").values_list(
        *("host", "preparing_text", "preparing_fraction", "started_at", "pk", "name")
    ):
        what, step = text or "loading the dataset", f"{100 * share:.0f} %" if share else ""
        found[host] = CurrentJob(HostState.PREPARING, what, step, since, study, name)
    return found


def _of_study(
    state: HostState,
    what: str,
    columns: Sequence[Any],
    live: Sequence[list[Any]] = (),
    unit: str = "",
) -> Jobs:
    """Return a study's job by its host."""
    host, step, since, study, name, device = columns
    step = step or "starting"
    return {host: CurrentJob(state, what, step, since, study, name or "", device, live, unit)}
