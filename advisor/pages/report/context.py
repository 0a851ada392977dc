"""What fits on four sheets of paper, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from advisor.pages.export.recommendation import recommendation_cards
from advisor.pages.report.command import command_of
from advisor.pages.report.paper import narrowed
from advisor.pages.study.boards import answer_of, board_key
from advisor.wording.formatting import few_names
from advisor.wording.hosts import fact_words
from advisor.wording.searches import best_so_far_text, tried_text
from advisor.wording.words import devices_to_name
from benchmarks.counted import counted
from benchmarks.models import Run, RunState
from tuning.export.words import sentence
from tuning.models import StudyState
from tuning.results.boards import Board, Row
from tuning.results.searched import search_result
from tuning.results.study_result import StudyResult
from tuning.statistics.ranking import Metric
from tuning.strategy.search.space import Space

# On A4 with 9 pt: a line of a ranking is 5 mm, one of my.cnf 3 mm in two columns.
MAX_ROWS = 20
MIN_ROWS = 2
MAX_BOARDS = 6
MAX_RECOMMENDATIONS = 4
MAX_FILE_LINES = 120
MAX_FACTS = 20
MAX_VARIABLES = 12


@dataclass(frozen=True)
class ReportBoard:
    """A ranking cut to its best rows, with the baseline among them; `left` are not shown."""

    title: str
    rows: list[Row]
    left: int
    floor: float | None


def report_context(result: StudyResult, request: HttpRequest) -> dict[str, Any]:
    study = result.study
    begun = [one for one in result.boards if one.has_figures or study.is_finished]
    if study.search is not None:  # what was not raced is not ranked
        begun = [one for one in begun if one.slots]
    boards = begun[:MAX_BOARDS]
    most = max(MAX_ROWS // max(len(boards), 1), MIN_ROWS)
    cards = recommendation_cards(result, request)
    shown = next((card for card in cards if card.my_cnf is not None), None)
    lines = narrowed(shown.my_cnf or "") if shown else []
    return {
        "study": study,
        "address": request.build_absolute_uri(reverse("study-detail", args=[study.pk])),
        "boards": [_board(board, result, most) for board in boards],
        "configs": sum(
            not (one.found_by_search or one.taken_from) for one in result.candidates.values()
        ),
        "more_boards": len(begun) - len(boards),
        "answers": [
            (answer_of(card.recommendation, result), card.recommendation.verdict)
            for card in cards[:MAX_RECOMMENDATIONS]
        ],
        "instead": [] if cards else _instead(result, boards),
        "more_recommendations": max(len(cards) - MAX_RECOMMENDATIONS, 0),
        "charted": board_key(boards[0]) if boards and boards[0].has_figures else "",
        "charted_board": (
            _board_title(boards[0], result) or "durability D0"
            if boards and len(result.boards) > 1
            else ""
        ),
        "quality": result.data_quality,
        "facts": _facts(result)[:MAX_FACTS],
        "devices": list(result.devices.values()),
        "workloads": list(result.workloads.values()),
        "searched": _searched(result),
        "command": command_of(result),
        # A setting stays on the sheet of its comment.
        "file_parts": "\n".join(lines[:MAX_FILE_LINES]).split("\n\n"),
        "file_of": shown.recommendation if shown and lines else None,
        "is_file_cut": len(lines) > MAX_FILE_LINES,
        "unsafe": [card.recommendation for card in cards if card.my_cnf is None],
    }


def _board(board: Board, result: StudyResult, most: int) -> ReportBoard:
    rows = board.rows_by(result.aim.objective)
    kept = rows[:most]
    if not any(row.candidate.is_baseline for row in kept):
        kept = [*kept[:-1], *(row for row in rows if row.candidate.is_baseline)]
    judgement = board.judgement_by(result.aim.objective)
    return ReportBoard(
        title=_title(board, result),
        rows=kept,
        left=len(rows) - len(kept),
        floor=judgement.analysis.floor,
    )


def _instead(result: StudyResult, boards: Sequence[Board]) -> list[str]:
    """What is known without a recommendation, in sentences."""
    study = result.study
    if study.state == StudyState.FAILED and study.reason:
        why = sentence(study.reason.rstrip("."))
        return [why, *(board.all_failed for board in boards if board.all_failed)]
    if boards:
        return [board.for_advice.verdict.sentence for board in boards]
    searched = search_result(result)
    if searched and searched.leader:
        return [best_so_far_text(searched)]
    return ["No run has a result yet."]


def _searched(result: StudyResult) -> str:
    """What a search changed and tried, in sentences; "" for other studies."""
    found, stored = search_result(result), result.study.search
    if found is None or stored is None:
        return ""
    names = [one.name for one in Space.from_json(stored["space"]).dimensions]
    is_finished = result.study.is_finished
    said = [
        f"Search space: {counted(len(names), 'variable')} ({few_names(names, MAX_VARIABLES)}).",
        tried_text(found, is_finished=is_finished),
    ]
    raced = sum(one.is_finalist for one in found.tried)
    if raced or (is_finished and found.tried):
        said.append(f"{raced or 'None'} of them raced.")
    return " ".join(said)


def _title(board: Board, result: StudyResult) -> str:
    title = _board_title(board, result)
    by = "" if result.aim.objective is Metric.TPMP else f" by {result.aim.objective.value}"
    return f"Ranking{by}" + (f": {title}" if title else "")


def _board_title(board: Board, result: StudyResult) -> str:
    """What tells it from the study's other boards."""
    words = [str(board.device)] if devices_to_name(result.devices.values()) else []
    if len(result.workloads) > 1:
        words.append(counted(board.workload.connections, "connection"))
    if board.durability != "D0":
        words.append(f"durability {board.durability}")
    return ", ".join(words)


def _facts(result: StudyResult) -> list[tuple[str, str]]:
    """Where it was measured, from one successful run of each device: first what they share."""
    runs: dict[int, int] = {}
    for slot in result.slots:
        if slot.run.state == RunState.OK:
            runs.setdefault(slot.device_id, slot.run_id)
    found = Run.objects.only("fingerprint", "driver_version", "code_commit").in_bulk(runs.values())
    if not found:
        return []
    run, *others = (found[pk] for pk in runs.values())
    shared = {
        name: fact
        for name, fact in run.fingerprint.items()
        if all(other.fingerprint.get(name) == fact for other in others)
    }
    facts = [("driver", run.driver_version)]
    facts += [("advisor", run.code_commit)] if run.code_commit else []
    facts += fact_words(shared)
    for device, pk in runs.items() if others else ():
        own = {name: fact for name, fact in found[pk].fingerprint.items() if name not in shared}
        facts.append((str(result.devices[device]), ", ".join(text for _, text in fact_words(own))))
    return [(name, text) for name, text in facts if text]
