"""What the study page shows, gathered from the rows; the templates only lay it out."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max, Q
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from advisor.pages.export.recommendation import recommendation_views
from advisor.pages.study.board_choice import BoardChoice, board_choice
from advisor.pages.study.boards import board_views, verdict_of_study
from advisor.pages.study.candidates import candidate_views
from advisor.pages.study.device_matrix import device_matrices
from advisor.pages.study.extend import ExtendForm
from advisor.wording.findings import findings_view
from advisor.wording.words import told_devices
from benchmarks.models import ACTIVE_RUN_STATES, RunState
from tuning.models import Slot, Study
from tuning.results.evidence import traits_of
from tuning.results.history import read_log_tails
from tuning.results.study_result import StudyResult
from tuning.studies.pausing import is_under_way, pause_text
from tuning.studies.progress import StudyProgress, study_progress

# A figure or a bound: no reason to show a log.
_TOLD_IN_THE_TABLE = (RunState.OK, RunState.CUT_SHORT)


def study_for_page(pk: int) -> Study:
    """The study with what its page names, or 404."""
    return get_object_or_404(
        Study.objects.select_related("server", "host", "created_by").prefetch_related(
            "devices", "workloads"
        ),
        pk=pk,
    )


def live_context(study: Study, choice: BoardChoice) -> dict[str, Any]:
    """What changes every second: state, progress, and the stamp of the results."""
    progress = study_progress(study)
    return {
        "study": study,
        "progress": progress,
        "percent": round(progress.fraction * 100),
        "stamp": results_stamp(study),
        "places": result_places(study),
        "choice": choice,
        "took_s": _took_s(study),
        "pause": pause_text(study),
        "is_under_way": not study.is_finished and is_under_way(study),
        "announcement": _announcement(study, progress),
    }


def study_context(result: StudyResult, request: HttpRequest) -> dict[str, Any]:
    """Everything on the study page."""
    study, choice = result.study, board_choice(request.GET)
    ended = [slot for slot in result.slots if slot.run.is_finished]
    started = [slot for slot in ended if not _never_started(slot)]
    failed = [slot for slot in started if slot.run.state not in _TOLD_IN_THE_TABLE]
    read_log_tails(slot.run for slot in failed)
    shown = candidate_views(list(result.candidates.values()), traits_of(study.server))
    views = board_views(result, choice)
    return {
        **live_context(study, choice),
        "boards": views,
        "findings": findings_view(result),
        "verdicts": verdict_of_study(study, views),
        "quality": result.data_quality,
        "recommendations": recommendation_views(result, request),
        "matrices": device_matrices(result),
        "candidates": shown,
        "tells_device": bool(told_devices(result.devices.values())),
        "refused": [view for view in shown if view.candidate.refusal],
        "ended_runs": [
            line
            for line in result.history
            if line.run.is_finished and not _never_started(line.slot)
        ],
        "failed_slots": failed,
        "never_started": len(ended) - len(started),
        "extend_form": ExtendForm(auto_id="extend_%s"),
    }


def results_stamp(study: Study) -> str:
    """Changes whenever the results do: state, runs that ended, recommendations."""
    runs = study.slots.aggregate(
        newest=Max("run_id"),
        ended=Count("pk", filter=~Q(run__state__in=ACTIVE_RUN_STATES)),
    )
    state = "paused" if study.is_paused else study.state
    return f"{state}.{runs['newest']}.{runs['ended']}.{study.recommendations.count()}"


def result_places(study: Study) -> int:
    """Changes whenever a board is there that was not, or under another name.

    Only a whole page has a section for each board: what is swapped into an open one fills those
    that it has. Devices are measured one after the other, so their boards come one by one.
    """
    places = study.slots.order_by().values("device", "workload", "candidate__durability")
    return places.distinct().count()


def _took_s(study: Study) -> float | None:
    if study.started_at is None or study.finished_at is None:
        return None
    return (study.finished_at - study.started_at).total_seconds()


def _announcement(study: Study, progress: StudyProgress) -> str:
    label = study.shown_state
    if study.is_finished:
        return f"Study {label.lower()}."
    if not progress.candidate:
        return f"{label}."
    if progress.pairs:
        pair = f"pair {progress.pair} of {progress.pairs}"
        return f"Confirmation, {pair}: {progress.candidate}."
    run = f"Run {progress.runs_done + 1} of {progress.runs_total}"
    return f"{run}: {progress.candidate}, block {progress.block}."


def _never_started(slot: Slot) -> bool:
    """Cancelled before its turn, or ended at once because the server refused the candidate."""
    refused = bool(slot.candidate.refusal)
    return slot.run.started_at is None and (refused or slot.run.state == RunState.CANCELLED)
