"""The ranking and the recommendation as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console
from rich.table import Table

from advisor.pages.words import MAY_COST
from benchmarks.models import RunState
from tuning.models import DurabilityClass, Study
from tuning.services.results import Board, Row, boards

NOTE = (
    "* the baseline. tpmP: New-Orders completed per minute; it is not tpmC, which is reserved for "
    "audited TPC results. Figures are medians of the runs; the ratio is the median of the ratios "
    "to the baseline within each block. Mcycles: CPU path length of the server, in millions of "
    "cycles per New-Order. runs: OK of all."
)


def print_ranking(study: Study, console: Console) -> None:
    found = boards(study)
    tells_class = study.durability != DurabilityClass.D0
    for board in found:
        console.print(_table(study, board, tells_class))
    for line in _unmeasured(study):
        console.print(line, markup=False)
    console.print(NOTE, style="dim")
    for recommendation in study.recommendations.select_related("candidate"):
        head = f"{recommendation.durability}: " if tells_class else ""
        console.print(f"{head}{recommendation.verdict}", markup=False, style="bold")


def _unmeasured(study: Study) -> Iterator[str]:
    """The candidates that have no runs of their own, and why."""
    for candidate in study.candidates.select_related("merged_into"):
        if candidate.refusal:
            yield f"{candidate.name}: refused by the server, not measured: {candidate.refusal}"
        elif candidate.merged_into:
            same = candidate.merged_into.name
            yield f"{candidate.name}: same effective values as {same}, measured once for both"


def _table(study: Study, board: Board, tells_class: bool) -> Table:
    cost = f"\nDurability {board.durability}: {MAY_COST[board.durability]}" if tells_class else ""
    table = Table(
        title=f"{study.server} on {board.device}\n{board.workload}{cost}",
        title_justify="left",
        box=box.SIMPLE,
        # Fits a terminal of 80 columns: one blank between columns, none at the edges.
        collapse_padding=True,
        pad_edge=False,
    )
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("config", no_wrap=True)
    for title in ("tpmP", "ratio", "p95 ms", "p99 ms", "Mcycles", "runs"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("outcome")
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
        "-" if line.ratio_to_baseline is None else f"{(line.ratio_to_baseline - 1) * 100:+.1f} %",
        _number(line.p95_ms, ".1f"),
        _number(line.p99_ms, ".1f"),
        _number(path, ".2f"),
        "-" if row.candidate.refusal else f"{line.runs}/{line.runs + line.failures}",
        _outcome(row),
    ]


def _outcome(row: Row) -> str:
    if row.candidate.refusal:
        return "refused"
    outcome = row.ranked.outcome
    return str(RunState(outcome).label) if outcome else "not run yet"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
