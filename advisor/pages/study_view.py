"""What the study page shows, gathered from the rows; the templates only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q
from django.shortcuts import get_object_or_404

from benchmarks.models import ACTIVE_RUN_STATES, Device, RunState, Workload
from tuning.models import DurabilityClass, Recommendation, Slot, Study, StudyState
from tuning.services.exports import my_cnf_of
from tuning.services.progress import StudyProgress, study_progress
from tuning.services.results import Board, boards


@dataclass(frozen=True)
class BoardView:
    """A board with the name of its place in the page."""

    key: str
    title: str
    board: Board

    @property
    def has_figures(self) -> bool:
        """Whether any run of the board ended well."""
        return any(row.ranked.runs for row in self.board.rows)


@dataclass(frozen=True)
class RecommendationView:
    """A recommendation and its my.cnf; None where its durability is to be acknowledged first."""

    recommendation: Recommendation
    my_cnf: str | None


def study_for_page(pk: int) -> Study:
    """The study with what its page names, or 404."""
    return get_object_or_404(
        Study.objects.select_related("server", "host", "created_by").prefetch_related(
            "devices", "workloads"
        ),
        pk=pk,
    )


def board_key(device: Device, workload: Workload) -> str:
    return f"board-{device.pk}-{workload.pk}"


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


def study_context(study: Study) -> dict[str, Any]:
    """Everything on the study page."""
    slots = study.slots.select_related("run", "candidate", "workload")
    ended = [slot for slot in slots if slot.run.is_finished]
    return {
        **live_context(study),
        "boards": board_views(study),
        "recommendations": recommendation_views(study),
        "candidates": list(study.candidates.select_related("config")),
        "ended_slots": ended,
        "failed_slots": [slot for slot in ended if _has_failed(slot)],
        "never_started": sum(_never_started(slot) for slot in ended),
    }


def recommendation_views(study: Study) -> list[RecommendationView]:
    """The study's recommendations with the text of the file where it may be shown at once."""
    found = study.recommendations.select_related("candidate", "device", "study__server")
    return [
        RecommendationView(one, my_cnf_of(one) if one.durability == DurabilityClass.D0 else None)
        for one in found
    ]


def board_views(study: Study) -> list[BoardView]:
    """The study's boards; their titles say only what tells them apart."""
    found = boards(study)
    devices = {board.device.pk for board in found}
    workloads = {board.workload.pk for board in found}
    views = []
    for board in found:
        words = [str(board.device)] if len(devices) > 1 else []
        if len(workloads) > 1:
            words.append(f"{board.workload.connections} connections")
        title = "Ranking" + (f": {', '.join(words)}" if words else "")
        views.append(BoardView(board_key(board.device, board.workload), title, board))
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
    return slot.run.state == RunState.CANCELLED and slot.run.started_at is None


def _has_failed(slot: Slot) -> bool:
    return slot.run.state != RunState.OK and not _never_started(slot)
