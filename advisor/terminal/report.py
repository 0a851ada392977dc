"""The ranking and the recommendation as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.wording.findings import source_findings
from advisor.wording.formatting import names_text
from advisor.wording.importance import importance_note, knob_lines
from advisor.wording.lines import line_rows
from advisor.wording.searches import warm_start_text
from advisor.wording.spaces import knob_text
from advisor.wording.words import MAY_COST
from benchmarks.counted import counted, percent
from benchmarks.models import RunState
from tuning.configs.notes import Action
from tuning.export.lines import Line, lines_of
from tuning.models import DurabilityClass, Study
from tuning.results.boards import Board, Row
from tuning.results.build import build
from tuning.results.document import Ablation, CandidateFacts, Importance, StudyDocument
from tuning.results.proportion import proportion_text
from tuning.results.searched import SearchResult, search_result
from tuning.results.study_result import StudyResult
from tuning.results.write_debt import debt_sentence, debtors_of
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric
from tuning.statistics.ranking import Ranked
from tuning.studies.earlier_studies import warm_start

NOTE = (
    "* baseline. tpmP: New-Orders completed per minute (not tpmC, which is reserved for audited "
    "TPC results). Figures are medians of the runs. change: tpmP relative to the baseline of the "
    "same block, with a 95 % interval that holds for all candidates at once. Tied candidates "
    "share a rank. Mcycles: CPU path length of the server, in millions of cycles per New-Order. "
    "runs: successful runs out of all, and their outcome."
)

# Configs of a search that are printed; the page has them all.
SHOWN_OF_SEARCH = 5
# A bound above this is as good as unknown and is not printed.
MAX_PCT = 900


def print_ranking(result: StudyResult, console: Console) -> None:
    study, found = result.study, result.boards
    shows_class = study.durability != DurabilityClass.D0
    # Of a search that has not raced there is nothing in a table.
    shown = [board for board in found if study.search is None or board.slots]
    for board in shown:
        console.print(f"{study.server} on {board.device}", markup=False, style="italic")
        if profile := board.device.profile:
            console.print(profile.text(), markup=False, style="italic")
        console.print(str(board.workload), markup=False, style="italic")
        if proportion := proportion_text(study, board.device, board.workload):
            console.print(proportion, markup=False, style="italic")
        if shows_class:
            cost = MAY_COST[board.durability]
            console.print(f"Durability {board.durability}: {cost}", markup=False, style="italic")
        console.print(_table(board))
        for line in _evidence(board):
            console.print(line, markup=False)
        console.print()
    for line in _unmeasured(result):
        console.print(line, markup=False)
    document = build(result)
    _print_reasons(result, console)
    if searched := search_result(result):
        _print_search(searched, result.study, console)
        _print_importance(document.search.importance if document.search else None, console)
    _print_findings(document, console)
    if shown:
        console.print(NOTE, style="dim")
    devices = {board.device.pk for board in found}
    workloads = {board.workload.pk for board in found}
    for recommendation in result.recommendations:
        device = recommendation.device
        words = [str(device)] if len(devices) > 1 or device.emulation_label else []
        if len(workloads) > 1:
            words.append(counted(recommendation.workload.connections, "connection"))
        words += [recommendation.durability] if shows_class else []
        head = f"{', '.join(words)}: " if words else ""
        console.print(f"{head}{recommendation.verdict}", markup=False, style="bold")
        for ranked, answer in document.recommendations:
            if answer.id == recommendation.pk and ranked.ablation is not None:
                _print_lines(ranked.ablation, document.candidate, console)
        for recommended in lines_of(result.evidence(recommendation)):
            if recommended.in_model:
                console.print(_sized(recommended), markup=False)
            for price in recommended.costs:
                console.print(f"{price.text}.", markup=False)


def _sized(line: Line) -> str:
    """ "innodb_buffer_pool_size: 168M in the scale model, 31G on your server"."""
    there, here = knob_text(line.name, line.in_model), knob_text(line.name, line.value)
    return f"{line.name}: {there} in the scale model, {here} on your server."


def _print_reasons(result: StudyResult, console: Console) -> None:
    """The reason for each line of a proposal."""
    for candidate in result.candidates.values():
        knobs = candidate.config.knobs
        # A candidate that the gate left out has reasons and no knobs.
        reasons = [
            note
            for note in candidate.notes
            if note["action"] == Action.PROPOSED and note["name"] in knobs
        ]
        if not reasons:
            continue
        console.print(f"{candidate.name}, {candidate.source}", style="italic", markup=False)
        for note in reasons:
            name = note["name"]
            value = knob_text(name, knobs[name])
            console.print(_indented(f"{name} = {value}: {note['detail']}", 2))
        console.print()


def _print_findings(document: StudyDocument, console: Console) -> None:
    """Nothing where the template has no claims."""
    findings = source_findings(document)
    if findings is None:
        return
    so_far = "" if findings.is_final else ", so far"
    console.print(f"The source's claims, checked here{so_far}", style="italic")
    for one in findings.claims:
        console.print(_indented(f"{one.claim.number}. {one.claim.says}", 0))
        console.print(_indented(one.claim.published_text, 3), style="dim")
        for view in one.findings:
            place = f"{view.place}: " if view.place else ""
            console.print(_indented(f"{place}{view.finding.sentence}", 3))
    for device in findings.unknown:
        console.print(_indented(f"{device.name}: kind not detected; set it if you know it.", 0))
    console.print()


def _print_search(searched: SearchResult, study: Study, console: Console) -> None:
    """The configs tried by a search; those that raced are in the ranking above."""
    said = [
        f"The search measured {counted(len(searched.tried), 'config')} in "
        f"{counted(len(searched.looks), 'short run')}"
    ]
    if searched.refused:
        said.append(f"{searched.refused} were refused")
    if searched.duplicates:
        said.append(f"{searched.duplicates} had the same effective values as others")
    begun = warm_start_text(warm_start(study.search or {}))
    console.print(" ".join(filter(None, (f"{'; '.join(said)}.", begun))), markup=False)
    best = [one for one in searched.tried[:SHOWN_OF_SEARCH] if one.ratio is not None]
    for one in best:
        change = f"{((one.ratio or 1) - 1) * 100:+.1f} % {FULL_NAMES[searched.metric]}"
        raced = ", raced" if one.is_finalist else ""
        console.print(_indented(f"{one.candidate.name}: {change}{raced}", 2))
    front = names_text([one.candidate.name for one in searched.front(Metric.P95)])
    if front:
        said_of_front = f"No other beats these in both tpmP and p95, in short runs: {front}."
        console.print(_indented(said_of_front, 0))
    console.print()


def _print_importance(found: Importance | None, console: Console) -> None:
    """The knobs that matter most; the page has them all."""
    if found is None:
        return
    console.print(_indented(importance_note(found), 0))
    for line in knob_lines(found)[:SHOWN_OF_SEARCH]:
        console.print(_indented(f"{line.name}: {line.share}, {line.change}. {line.seen}.", 2))
    console.print()


def _print_lines(
    found: Ablation, candidates: Mapping[int, CandidateFacts], console: Console
) -> None:
    """What each line of the winner contributes."""
    whole = candidates[found.whole_id]
    console.print(f"What the lines of {whole.name} contribute", style="italic", markup=False)
    for row in line_rows(found, whole):
        console.print(_indented(f"{', '.join(row.lines)}: {row.answer}: {row.text}", 2))


def _indented(text: str, columns: int) -> Padding:
    """Indents wrapped lines too."""
    return Padding(Text(text), (0, 0, 0, columns))


def _unmeasured(result: StudyResult) -> Iterator[str]:
    """The candidates that have no runs of their own, and why."""
    for candidate in result.candidates.values():
        if candidate.found_by_search or candidate.taken_from_id is not None:
            continue
        if candidate.refusal:
            yield f"{candidate.name}: refused by the server, not measured: {candidate.refusal}"
        elif candidate.merged_into:
            same = candidate.merged_into.name
            yield f"{candidate.name}: same effective values as {same}, measured once for both"


def _table(board: Board) -> Table:
    table = Table(
        box=box.SIMPLE,
        # Fits a terminal of 80 columns: one blank between columns, none at the edges.
        collapse_padding=True,
        pad_edge=False,
    )
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("config", no_wrap=True)
    for title in ("tpmP", "change", "95 %", "p95 ms", "Mcycles"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("runs")
    for row in board.rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> list[str]:
    line = row.ranked
    path = None if line.server_path_length is None else line.server_path_length / 1e6
    name = f"{row.candidate.name} *" if row.candidate.is_baseline else row.candidate.name
    return [
        "-" if line.rank is None else str(line.rank),
        name,
        _number(line.tpmP, ",.0f"),
        _change(line),
        _interval(row),
        _number(line.p95_ms, ".1f"),
        _number(path, ".2f"),
        _runs(row),
    ]


def _change(line: Ranked) -> str:
    if line.at_most is not None:
        return f"<{(line.at_most - 1) * 100:+.0f} %"
    ratio = line.ratio_to_baseline
    return "-" if ratio is None else f"{(ratio - 1) * 100:+.1f} %"


def _interval(row: Row) -> str:
    """Whole percents where they are large: the columns have to fit."""
    interval = row.ranked.interval
    if interval is None or row.candidate.is_baseline or row.ranked.at_most is not None:
        return ""
    low, high = ((bound - 1) * 100 for bound in (interval.low, interval.high))
    if low > MAX_PCT:
        return f">{MAX_PCT}"
    if high > MAX_PCT:
        return f"{low:+.0f} to >{MAX_PCT}"
    places = 1 if max(abs(low), abs(high)) < 10 else 0
    return f"{low:+.{places}f} to {high:+.{places}f}"


def _evidence(board: Board) -> Iterator[str]:
    """The lines below a table: ties, candidates that left, noise, confirmations."""
    shared: set[int] = set()
    for row in board.rows:
        line = row.ranked
        if line.rank is not None and line.tied_with and line.rank not in shared:
            shared.add(line.rank)
            names = names_text([line.candidate, *line.tied_with])
            yield f"Rank {line.rank} is shared: {names} are tied."
    for row in board.rows:
        if row.left:
            name, after = row.candidate.name, row.left.after_block
            yield f"{name} left the race after block {after}: {row.left.reason}."
    analysis = board.for_advice.analysis
    if analysis.floor is not None:
        floor = percent(analysis.floor, 1)
        yield f"Noise floor {floor}: how much the same config, entered twice, can differ."
    if analysis.run_noise is not None:
        noise = percent(analysis.run_noise, 1)
        yield f"Run noise {noise}: the standard deviation of a single run."
    for one in board.fresh_pairs:
        if one.found:
            yield one.found.sentence
        else:
            pairs = f"{one.done} of {one.planned} pairs measured"
            yield f"Confirmation of {one.candidate.name}: {pairs}."
    if owed := debt_sentence(debtors_of(board)):
        yield owed


def _runs(row: Row) -> str:
    line = row.ranked
    if row.candidate.refusal:
        return "- refused"
    outcome = str(RunState(line.outcome).label) if line.outcome else "not run"
    return f"{line.runs}/{line.runs + line.failures + line.cut_short} {outcome}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
