"""The template context of the study page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from advisor.charts.live import live_curves
from advisor.pages.export.recommendation import recommendation_cards
from advisor.pages.study.board_choice import BoardChoice, board_choice
from advisor.pages.study.boards import board_sections, verdict_of_study
from advisor.pages.study.candidates import candidate_details, details_of
from advisor.pages.study.command import command_of
from advisor.pages.study.device_matrix import device_matrices
from advisor.pages.study.events import events_context
from advisor.pages.study.first_figures import first_figures, has_begun
from advisor.pages.study.ranking_table import ranking_head, ranking_rows
from advisor.pages.study.run_rows import run_rows
from advisor.pages.study.search import search_view
from advisor.pages.study.search_rows import search_row
from advisor.shared_results import SharedResult, shared_result
from advisor.wording.findings import source_findings
from advisor.wording.words import devices_to_name
from benchmarks.models import RunState
from tuning.models import Study
from tuning.results.evidence import traits_of
from tuning.results.live_run import LiveRun, live_run
from tuning.results.proportion import proportion_text
from tuning.results.run_list import log_tails
from tuning.results.slot_rows import SlotRow
from tuning.results.study_result import StudyResult
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric
from tuning.studies.glance import Look, look_at
from tuning.studies.host_checks import drain_text
from tuning.studies.pausing import pause_text
from tuning.studies.progress import StudyProgress, study_progress
from tuning.studies.scheduler import is_under_way

# With more lines in all, of several rankings only the first is open, also in a wide window.
MAX_OPEN_ROWS = 40
# Of the configs that a search tried the best so many are seen at once.
OPEN_SEARCH_ROWS = 10
# States with a result or a bound, whose log is not shown.
_HAVE_A_FIGURE = (RunState.OK, RunState.CUT_SHORT)


def live_context(
    study: Study, shared: SharedResult | None, choice: BoardChoice, look: Look | None
) -> dict[str, Any]:
    """The part that changes with every step: state, progress, and the stamp of the results.

    Without the seconds of the current run, which `now_context` has.

    `shared`: whose rows are read, for results that are shown as well; None: no more rows than this
    needs. `look` is from before they were read: what changes meanwhile is asked for again. None
    of a study that has ended.
    """
    if shared is None:
        return _live(study, StudyResult(study).slots, choice, look)
    if study.is_finished:
        ended = shared.made(
            ("live", choice),
            lambda result: _live(result.study, result.slots, choice, None),
        )
        return {**ended, "study": study}
    steps = look.steps if look else {}
    slots = [
        slot._replace(run=slot.run._replace(step=steps.get(slot.run_id, slot.run.step)))
        for slot in shared.result.slots
    ]
    return _live(study, slots, choice, look)


def _live(
    study: Study, slots: Sequence[SlotRow], choice: BoardChoice, look: Look | None
) -> dict[str, Any]:
    progress = study_progress(study, slots, with_leader=study.search is not None)
    study.waits = bool(progress.waits_for)
    drain = "" if study.is_finished else drain_text(study.host)
    return {
        "glance": look.word if look else "",
        "study": study,
        "progress": progress,
        "percent": round(progress.fraction * 100),
        "stamp": results_stamp(study, slots),
        "choice": choice,
        "took_s": _took_s(study),
        "pause": pause_text(study),
        "drain": drain,
        # Said of what waits for the current run to end.
        "is_under_way": (study.is_paused or bool(drain)) and is_under_way(study),
        "announcement": _announcement(study, progress),
        **events_context(study),
        "searched_metric": FULL_NAMES[progress.searched.metric] if progress.searched else "",
    }


def now_context(now: LiveRun | None) -> dict[str, Any]:
    """The run that is driven now."""
    return {"now": now, "curves": live_curves(now.seconds) if now else []}


def study_context(study: Study, request: HttpRequest) -> dict[str, Any]:
    """Everything on the study page."""
    choice = board_choice(request.GET)
    look = None if study.is_finished else look_at(study.pk)
    shared = shared_result(study, look)
    live = live_context(study, shared, choice, look)
    now = None if study.is_finished else live_run(study.pk)
    return {
        **live,
        **now_context(now),
        **results_context(shared, choice),
        **cards_context(shared, request),
        "command": command_of(shared.result),
    }


def cards_context(shared: SharedResult, request: HttpRequest) -> dict[str, Any]:
    """The recommendations, with links as the user came; they change with the results."""
    came_to = request.build_absolute_uri("/")
    cards = shared.made(
        ("cards", came_to), lambda result: tuple(recommendation_cards(result, request))
    )
    return {"recommendations": cards}


def results_context(shared: SharedResult, choice: BoardChoice) -> dict[str, Any]:
    """The part that changes only when a run or the study has ended.

    What may have a line for each of hundreds of runs or configs comes as HTML. `parts` is another
    number when there are more rankings or charts than before.
    """
    made = shared.made(("results", choice), lambda result: _results(result, choice))
    tables = shared.made("tables", lambda result: _tables(result, made))
    return {**made, **tables}


def _tables(result: StudyResult, made: Mapping[str, Any]) -> dict[str, SafeString]:
    """HTML that every choice has in common."""
    context = {**made, "study": result.study}
    return {
        "run_rows": run_rows(made["ended_runs"], shows_device=made["shows_device"]),
        "candidate_details": details_of(made["candidates"], result.study),
        "search_body": _search_body(context),
    }


def _search_body(context: Mapping[str, Any]) -> SafeString:
    if context["search"] is None:
        return SafeString("")
    rows = [search_row(line) for line in context["search"].lines]
    shown = {"search_rows": rows[:OPEN_SEARCH_ROWS], "more_search_rows": rows[OPEN_SEARCH_ROWS:]}
    return render_to_string("studies/_search_body.html", {**context, **shown})


def _results(result: StudyResult, choice: BoardChoice) -> dict[str, Any]:
    study = result.study
    ended = [slot for slot in result.slots if slot.run.is_finished]
    started = [slot for slot in ended if not _never_started(slot)]
    failed = [slot for slot in started if slot.run.state not in _HAVE_A_FIGURE]
    logs = log_tails(slot.run for slot in failed)
    shown = candidate_details(list(result.candidates.values()), traits_of(study.server))
    views = board_sections(result, choice)
    search = search_view(result)
    if search is not None:  # until it races there is nothing to rank
        views = [view for view in views if view.board.slots]
    verdicts, findings = verdict_of_study(result, views), source_findings(result)
    if not has_begun(result):
        views = []
    is_said_above = bool(verdicts) and len(views) == 1 and choice.metric is Metric.TPMP
    drawn = sum(view.board.has_figures for view in views)
    drawn += bool(search and search.has_figures) + bool(findings and findings.has_figures)
    return {
        "boards": [
            replace(
                view,
                head=ranking_head(view, study.pk),
                table_rows=ranking_rows(view, study),
                is_said_above=is_said_above,
            )
            for view in views
        ],
        "parts": len(views) + drawn,
        "first_figures": first_figures(result),
        "long_boards": sum(len(view.rows) for view in views) > MAX_OPEN_ROWS,
        "search": search,
        "search_metric": FULL_NAMES[result.aim.objective],
        "findings": findings,
        "verdicts": verdicts,
        "quality": result.data_quality,
        "matrices": device_matrices(result),
        "proportions": list(
            dict.fromkeys(
                text
                for device in result.devices.values()
                for workload in result.workloads.values()
                if (text := proportion_text(study, device, workload))
            )
        ),
        "candidates": shown,
        "shows_device": bool(devices_to_name(result.devices.values())),
        # What a search tried in vain is no news: its table counts them. Nor is a variant.
        "refused": [view for view in shown if view.candidate.refusal and not view.is_made],
        "ended_runs": [
            line
            for line in result.history
            if line.run.is_finished and not _never_started(line.slot)
        ],
        "failed_slots": [(slot, logs[slot.run_id]) for slot in failed],
        "never_started": len(ended) - len(started),
    }


def results_stamp(study: Study, slots: Sequence[SlotRow]) -> str:
    """Changes whenever the results do: state, runs that ended, extensions.

    Recommendations are stored as the state changes.
    """
    newest = max((slot.run_id for slot in slots), default=None)
    return _stamp(study, newest, sum(slot.is_finished for slot in slots))


def stamp_at(study: Study, look: Look) -> str:
    """The same, of what a look has seen of its slots."""
    return _stamp(study, look.newest_run, look.ended)


def _stamp(study: Study, newest: int | None, ended: int) -> str:
    state = "paused" if study.is_paused else study.state
    return f"{state}.{newest}.{ended}.{study.conclusions}"


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
    if progress.searched is not None or progress.takes_apart:
        return f"{progress.text.capitalize().rpartition(',')[0]}."
    run = f"Run {progress.runs_done + 1} of {progress.runs_total}"
    return f"{run}: {progress.candidate}, block {progress.block}."


def _never_started(slot: SlotRow) -> bool:
    """Cancelled before its start, or ended because the server refused the candidate."""
    refused = bool(slot.candidate.refusal)
    return slot.run.started_at is None and (refused or slot.run.state == RunState.CANCELLED)
