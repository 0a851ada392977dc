"""Everywhere a config ran: what each study's own ranking says of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from benchmarks.models import Config
from tuning.comparison.measured import ranked_slots
from tuning.models import Study
from tuning.results.document import Board, BoardRow, CandidateFacts, StudyDocument
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.stored_documents import documents_of

#: A config that was measured for years is shown by its newest studies.
MAX_STUDIES = 20


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
    studies = Study.objects.filter(pk__in=there).select_related("server", "host")
    studies = studies.prefetch_related("devices", "workloads__load_host")
    newest = list(studies.order_by("-pk")[:MAX_STUDIES])
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
