"""A finished study as text: rankings, search, findings and recommendation."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from advisor.terminal.ranking import board_notes, column_note, ranking_table
from advisor.wording.findings import source_findings
from advisor.wording.formatting import percent_change
from advisor.wording.lines import line_rows
from advisor.wording.searches import tried_text, warm_start_text
from advisor.wording.words import MAY_COST
from benchmarks.counted import counted
from tuning.models import DurabilityClass
from tuning.results.document import Board, Recommendation, Search, StudyDocument
from tuning.statistics.aim import FULL_NAMES

# Configs of a search that are printed; the page has all, and what it learned of each variable.
SHOWN_OF_SEARCH = 5


def print_study(document: StudyDocument, console: Console) -> None:
    """Print the rankings, what was found, and at the end each answer."""
    # A search that has not raced has nothing in a table.
    shown = [one for one in document.boards if one.is_raced or not document.study.searches]
    for proportion in document.study.proportions if shown else ():
        console.print(proportion, markup=False, style="italic")
    for board in shown:
        _print_board(document, board, console)
    for text in _unmeasured(document):
        console.print(text, markup=False)
    if document.search:
        _print_search(document, document.search, console)
    _print_findings(document, console)
    if shown:
        console.print(column_note(document), style="dim")
    for board, recommendation in document.recommendations:
        _print_recommendation(document, board, recommendation, console)


def _print_board(document: StudyDocument, board: Board, console: Console) -> None:
    device = document.device[board.device_id]
    heads = [
        f"{document.study.server} on {device.name}",
        device.emulation_text,
        document.workload[board.workload_id].name,
    ]
    if document.study.durability != DurabilityClass.D0:
        cost = MAY_COST[DurabilityClass(board.durability)]
        heads.append(f"Durability {board.durability}: {cost}")
    for head in filter(None, heads):
        console.print(head, markup=False, style="italic")
    console.print(ranking_table(document, board))
    for note in board_notes(document, board):
        console.print(note, markup=False)
    console.print()


def _print_recommendation(
    document: StudyDocument, board: Board, found: Recommendation, console: Console
) -> None:
    """Print the verdict with the ablation, then the answer as every surface has it."""
    answer = document.answer[found.id]
    console.print(found.sentence, markup=False)
    if board.ablation:
        whole = document.candidate[board.ablation.whole_id]
        title = f"What the lines of {whole.name} contribute"
        console.print(title, style="italic", markup=False)
        for row in line_rows(board.ablation, whole):
            console.print(_indented(f"{', '.join(row.lines)}: {row.answer}: {row.text}", 2))
    console.print()
    console.print(answer.title, markup=False, style="bold")
    for line in answer.lines:
        console.print(_indented(f"{line.name} = {line.value}  (was {line.before})", 2))
    for title, text in answer.sentences:
        console.print(f"{title}: {text}", markup=False)


def _print_findings(document: StudyDocument, console: Console) -> None:
    """Print nothing where the template has no claims."""
    findings = source_findings(document)
    if findings is None:
        return
    so_far = "" if findings.is_final else ", so far"
    console.print(f"The source's claims, checked here{so_far}", style="italic")
    for number, one in enumerate(findings.claims, 1):
        claim = one.claim
        published = f": {claim.published}" if claim.published else ""
        console.print(_indented(f"{number}. {claim.says}", 0))
        console.print(_indented(f"{claim.source}{published}", 3), style="dim")
        for view in one.findings:
            place = f"{view.place}: " if view.place else ""
            console.print(_indented(f"{place}{view.finding.sentence}", 3))
    for device in findings.unknown:
        console.print(_indented(f"{device.name}: kind not detected; set it if you know it.", 0))
    console.print()


def _print_search(document: StudyDocument, search: Search, console: Console) -> None:
    """Print the best configs of a search."""
    tried = tried_text(search, is_finished=document.study.is_finished)
    short = f"The search took {counted(len(search.runs), 'short run')}: {tried}"
    begun = warm_start_text(search.began_with)
    console.print(" ".join(filter(None, (short, begun))), markup=False)
    for one in search.tried[:SHOWN_OF_SEARCH]:
        if one.ratio is not None:
            change = f"{percent_change(one.ratio)} {FULL_NAMES[search.metric]}"
            raced = ", raced" if one.is_finalist else ""
            name = document.candidate[one.candidate_id].name
            console.print(_indented(f"{name}: {change}{raced}", 2))
    console.print()


def _indented(text: str, columns: int) -> Padding:
    """Indent wrapped lines too."""
    return Padding(Text(text), (0, 0, 0, columns))


def _unmeasured(document: StudyDocument) -> Iterator[str]:
    """Yield the candidates that have no runs of their own, and why."""
    for candidate in document.candidates:
        if candidate.is_made:
            continue
        if candidate.refusal:
            yield f"{candidate.name}: refused by the server, not measured: {candidate.refusal}"
        elif candidate.merged_into_id:
            same = document.candidate[candidate.merged_into_id].name
            yield f"{candidate.name}: same effective values as {same}, measured once for both"
