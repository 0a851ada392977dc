"""What the study page shows, gathered from the rows; the templates only lay it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from advisor.pages.candidate_view import candidate_views
from advisor.pages.recommendation_view import recommendation_views
from benchmarks.models import ACTIVE_RUN_STATES, RunState
from tuning.models import Candidate, DurabilityClass, Slot, Study, StudyState
from tuning.services.progress import StudyProgress, study_progress
from tuning.services.results import Board, Row, boards


@dataclass(frozen=True)
class BoardRow:
    """A line of a board and the candidates that were not measured because they are the same."""

    row: Row
    twins: list[Candidate]


@dataclass(frozen=True)
class BoardView:
    """A board with the name of its place in the page.

    `shows_durability` says whether its class has to be told: always below D0.
    """

    key: str
    title: str
    board: Board
    rows: list[BoardRow]
    shows_durability: bool

    @property
    def is_safe(self) -> bool:
        """Whether no candidate of the board may lose anything."""
        return self.board.durability == DurabilityClass.D0

    @property
    def has_figures(self) -> bool:
        """Whether any run of the board ended well."""
        return any(row.ranked.runs for row in self.board.rows)


def study_for_page(pk: int) -> Study:
    """The study with what its page names, or 404."""
    return get_object_or_404(
        Study.objects.select_related("server", "host", "created_by").prefetch_related(
            "devices", "workloads"
        ),
        pk=pk,
    )


def board_key(board: Board) -> str:
    return f"board-{board.device.pk}-{board.workload.pk}-{board.durability}"


def live_context(study: Study) -> dict[str, Any]:
    """What changes every second: state, progress, and the stamp of the results."""
    progress = study_progress(study)
    return {
        "study": study,
        "progress": progress,
        "percent": round(progress.fraction * 100),
        "stamp": results_stamp(study),
        "took_s": _took_s(study),
        "announcement": _announcement(study, progress),
    }


def study_context(study: Study, request: HttpRequest) -> dict[str, Any]:
    """Everything on the study page."""
    slots = study.slots.select_related("run", "candidate", "workload")
    ended = [slot for slot in slots if slot.run.is_finished]
    started = [slot for slot in ended if not _never_started(slot)]
    candidates = list(study.candidates.select_related("config", "merged_into"))
    return {
        **live_context(study),
        "boards": board_views(study, candidates),
        "recommendations": recommendation_views(study, request),
        "candidates": candidate_views(candidates),
        "refused": [view for view in candidate_views(candidates) if view.candidate.refusal],
        "ended_slots": started,
        "failed_slots": [slot for slot in started if slot.run.state != RunState.OK],
        "never_started": len(ended) - len(started),
    }


def board_views(study: Study, candidates: Sequence[Candidate]) -> list[BoardView]:
    """The study's boards; their titles say only what tells them apart."""
    found = boards(study)
    devices = {board.device.pk for board in found}
    workloads = {board.workload.pk for board in found}
    classes = {board.durability for board in found}
    views = []
    for board in found:
        words = [str(board.device)] if len(devices) > 1 else []
        if len(workloads) > 1:
            words.append(f"{board.workload.connections} connections")
        tells_class = len(classes) > 1 or board.durability != DurabilityClass.D0
        if tells_class:
            words.append(f"durability {board.durability}")
        title = "Ranking" + (f": {', '.join(words)}" if words else "")
        rows = [
            BoardRow(row, [one for one in candidates if one.merged_into_id == row.candidate.pk])
            for row in board.rows
        ]
        views.append(BoardView(board_key(board), title, board, rows, tells_class))
    return views


def results_stamp(study: Study) -> str:
    """Changes whenever the results do: state, runs that ended, recommendations."""
    runs = study.slots.aggregate(
        newest=Max("run_id"),
        ended=Count("pk", filter=~Q(run__state__in=ACTIVE_RUN_STATES)),
    )
    return f"{study.state}.{runs['newest']}.{runs['ended']}.{study.recommendations.count()}"


def _took_s(study: Study) -> float | None:
    if study.started_at is None or study.finished_at is None:
        return None
    return (study.finished_at - study.started_at).total_seconds()


def _announcement(study: Study, progress: StudyProgress) -> str:
    label = StudyState(study.state).label
    if study.is_finished:
        return f"Study {label.lower()}."
    if not progress.candidate:
        return f"{label}."
    run = f"Run {progress.runs_done + 1} of {progress.runs_total}"
    return f"{run}: {progress.candidate}, block {progress.block}."


def _never_started(slot: Slot) -> bool:
    """Cancelled before its turn, or ended at once because the server refused the candidate."""
    refused = bool(slot.candidate.refusal)
    return slot.run.started_at is None and (refused or slot.run.state == RunState.CANCELLED)
