"""Which runs of years of studies count when devices, configs and baselines are compared.

Every comparison of runs of several studies begins with one of these queries, so that a run
counts everywhere or nowhere. What a study itself says of a config is taken from its document.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db.models import F, QuerySet

from benchmarks.models import Config, RunState
from tuning.models import Slot, SlotPurpose, Study
from tuning.results.document import Board, BoardRow, CandidateFacts, StudyDocument
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.stored_documents import documents_of

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


#: A config that was measured for years is shown by its newest studies.
MAX_STUDIES_OF_CONFIG = 20


@dataclass(frozen=True)
class ConfigResult:
    """A config on one board of a study; row: its medians there."""

    study: Study
    document: StudyDocument
    board: Board
    row: BoardRow

    @property
    def candidate(self) -> CandidateFacts:
        return self.document.candidate[self.row.candidate_id]

    @property
    def connections(self) -> int:
        return self.document.workload[self.board.workload_id].connections

    @property
    def estimate(self) -> Estimate | None:
        """The change of throughput from the study's baseline, as ranked; None for the baseline."""
        standing = self.board.rankings[Metric.THROUGHPUT].standing(self.row.candidate_id)
        return None if self.candidate.is_baseline or standing is None else standing.estimate

    @property
    def last(self) -> datetime | None:
        """When its last run there ended."""
        runs = self.document.ranked_runs(self.board)
        ends = [run.finished_at for run in runs if run.candidate_id == self.row.candidate_id]
        return max((end for end in ends if end is not None), default=None)


def config_results(config: Config) -> list[ConfigResult]:
    """Return the results in the newest studies, newest first; a place at most once per study."""
    there = ranked_slots().filter(candidate__config=config).order_by().values("study")
    studies = Study.objects.filter(pk__in=there).select_related("host")
    newest = list(studies.order_by("-pk")[:MAX_STUDIES_OF_CONFIG])
    found: dict[tuple[int, int, int, int], ConfigResult] = {}
    for study, document in zip(newest, documents_of(newest), strict=True):
        for board in document.boards:
            for row in board.rows:
                # A baseline is on the board of each durability class.
                key = study.pk, *board.place, row.candidate_id
                is_it = document.candidate[row.candidate_id].config_id == config.pk
                if is_it and row.runs and key not in found:
                    found[key] = ConfigResult(study, document, board, row)
    return list(found.values())
