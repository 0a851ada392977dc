"""The ranking of a board as a table in the terminal, and what is said below it."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.table import Table

from advisor.wording.formatting import (
    change_range,
    confidence_text,
    decimals,
    names_text,
    percent_change,
    share,
)
from advisor.wording.formatting import megacycles as in_megacycles
from benchmarks.drivers.workloads import PER_MINUTE, TPMP
from benchmarks.models import RunState
from tuning.results.document import Board, BoardRow, Standing, StudyDocument
from tuning.statistics.data import Metric

_NOTE = (
    "* baseline. {}: {}. Figures are medians of the runs. change: throughput "
    "relative to the baseline of the same block, with an interval that holds for all candidates "
    "at once. Tied candidates share a rank. Mcycles: CPU path length of the server, in millions "
    "of cycles per transaction. runs: successful runs out of all, and their outcome."
)
# By unit the title of the column, which has no room for more, and what it means.
_THROUGHPUT = {
    TPMP: (
        "tpmP",
        "New-Orders completed per minute (not tpmC, which is reserved for audited TPC results)",
    ),
    PER_MINUTE: ("per min", "transactions completed per minute"),
}


def column_note(document: StudyDocument) -> str:
    """Return what the columns of its rankings mean."""
    return _NOTE.format(*_THROUGHPUT[document.workloads[0].unit])


def ranking_table(document: StudyDocument, board: Board) -> Table:
    """Return the ranking by throughput, best first."""
    table = Table(
        box=box.SIMPLE,
        # Fits a terminal of 80 columns: one blank between columns.
        padding=0,
    )
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("config", no_wrap=True)
    confidence = board.rankings[Metric.THROUGHPUT].confidence
    sure = "interval" if confidence is None else confidence_text(confidence)
    throughput, _ = _THROUGHPUT[document.unit_on(board)]
    for title in (throughput, "change", sure, "p95 ms", "Mcycles"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("runs")
    standings = {one.candidate_id: one for one in board.rankings[Metric.THROUGHPUT].standings}
    for row in board.rows:
        table.add_row(*_cells(document, row, standings[row.candidate_id]))
    return table


def board_notes(document: StudyDocument, board: Board) -> Iterator[str]:
    """Yield the lines below a table: ties, candidates that left, noise, confirmations, debt."""
    names = {one.id: one.name for one in document.candidates}
    shared: set[int] = set()
    for line in board.rankings[Metric.THROUGHPUT].standings:
        if line.rank is not None and line.tied_with and line.rank not in shared:
            shared.add(line.rank)
            tied = names_text([names[pk] for pk in (line.candidate_id, *line.tied_with)])
            yield f"Rank {line.rank} is shared: {tied} are tied."
    for row in board.rows:
        if row.left:
            name, block = names[row.candidate_id], row.left.after_block
            yield f"{name} left the race after block {block}: {row.left.reason}."
    floor, noise = board.advice.noise_floor, board.advice.run_noise
    if floor is not None:
        yield f"Noise floor {share(floor)}: how much the same config, entered twice, can differ."
    if noise is not None:
        yield f"Run noise {share(noise)}: the standard deviation of a single run."
    for one in board.confirmations:
        pairs = f"{one.pairs_done} of {len(one.pairs)} pairs measured"
        yield one.sentence or f"Confirmation of {names[one.candidate_id]}: {pairs}."
    if board.debt_sentence:
        yield board.debt_sentence


def _cells(document: StudyDocument, row: BoardRow, line: Standing) -> list[str]:
    candidate = document.candidate[row.candidate_id]
    return [
        "-" if line.rank is None else str(line.rank),
        f"{candidate.name} *" if candidate.is_baseline else candidate.name,
        decimals(row.figures.throughput, 0),
        _change(line),
        "" if candidate.is_baseline else _interval(line),
        decimals(row.figures.p95_ms),
        in_megacycles(row.figures.server_path_length),
        "- refused" if candidate.refusal else _runs(row),
    ]


def _change(line: Standing) -> str:
    if line.at_most is not None:
        return f"<{percent_change(line.at_most)}"
    return percent_change(line.estimate.ratio if line.estimate else None)


def _interval(line: Standing) -> str:
    found = line.estimate
    if found is None or found.low is None or line.at_most is not None:
        return ""
    return change_range(*found.bounds)


def _runs(row: BoardRow) -> str:
    outcome = str(RunState(row.outcome).label) if row.outcome else "not run"
    return f"{row.runs}/{row.runs + row.failures + row.cut_short} {outcome}"
