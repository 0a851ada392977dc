"""Which runs of years of studies count when devices, configs and baselines are compared.

Every comparison of runs of several studies begins with one of these queries, so that a run
counts everywhere or nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import F, QuerySet

from benchmarks.models import RunState
from tuning.models import Slot, SlotPurpose

#: The newest studies that are compared, of those that have measured what is asked for.
MAX_STUDIES = 300


class RankedRun(NamedTuple):
    """A run by which a study ranks, with its figures as in `benchmarks.models.Run`."""

    id: int
    host_id: int
    server_id: int
    workload_id: int
    connections: int
    device_id: int
    comparability_key: str
    config_id: int
    logs_with_data: bool
    candidate_id: int
    candidate: str
    durability: str
    throughput: float
    p95_ms: float | None
    max_ms: float | None
    cpu_user_pct: float | None
    cpu_sys_pct: float | None
    cpu_iowait_pct: float | None
    server_path_length: float | None
    data_read_iops: float | None
    data_write_iops: float | None
    log_read_iops: float | None
    log_write_iops: float | None


_OF = {
    "connections": "workload__connections",
    "candidate_id": "candidate",
    "candidate": "candidate__name",
    "durability": "candidate__durability",
}


def measured_slots() -> QuerySet[Slot]:
    """Return the slots whose run has figures and lasted as long as the study's blocks.

    A slot has its newest run, so that a run that was measured again does not count. Longer pairs
    do not count: a config with write debt has other figures in them.
    """
    return Slot.objects.filter(
        run__state=RunState.OK, run__throughput__gt=0, run__workload=F("workload")
    )


def ranked_slots() -> QuerySet[Slot]:
    """Return the measured slots of blocks, which are the runs by which a study ranks.

    Other runs are of configs that were chosen because they were fast.
    """
    return measured_slots().filter(purpose=SlotPurpose.BLOCK)


def ranked_runs() -> list[RankedRun]:
    """Return the ranked runs of the newest MAX_STUDIES studies, oldest first."""
    columns = [_OF.get(name, f"run__{name}") for name in RankedRun._fields]
    slots = of_newest_studies(ranked_slots()).order_by("run_id")
    return [RankedRun._make(row) for row in slots.values_list(*columns)]


def baseline_slots() -> QuerySet[Slot]:
    """Return the measured slots of baselines; of any purpose, since nobody chose the best ones."""
    known = measured_slots().exclude(run__comparability_key="")
    return known.filter(candidate__is_baseline=True, run__finished_at__isnull=False)


def of_newest_studies(slots: QuerySet[Slot]) -> QuerySet[Slot]:
    """Return the slots of the newest MAX_STUDIES studies that have any."""
    newest = slots.order_by("-study_id").values_list("study", flat=True).distinct()[:MAX_STUDIES]
    return slots.filter(study__in=list(newest))
