"""The ranking and the recommendation as a person reads them."""

from __future__ import annotations

import secrets
from pathlib import Path

from django.conf import settings
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.models import RunState
from tuning.models import Recommendation, Study
from tuning.services.exports import my_cnf_of
from tuning.services.results import Board, Row, boards

NOTE = (
    "* the baseline. tpmP: New-Orders completed per minute; it is not tpmC, which is reserved for "
    "audited TPC results. Figures are medians of the runs; the ratio is the median of the ratios "
    "to the baseline within each block. Mcycles: CPU path length of the server, in millions of "
    "cycles per New-Order. runs: OK of all."
)


def print_ranking(study: Study, console: Console) -> None:
    for board in boards(study):
        console.print(_table(study, board))
    console.print(NOTE, style="dim")
    for recommendation in study.recommendations.select_related("candidate"):
        console.print(recommendation.verdict, markup=False, style="bold")


def _table(study: Study, board: Board) -> Table:
    table = Table(
        title=f"{study.server} on {board.device}\n{board.workload}",
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
        f"{line.runs}/{line.runs + line.failures}",
        str(RunState(line.outcome).label) if line.outcome else "not run yet",
    ]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def write_recommendation(recommendation: Recommendation, path: Path | None = None) -> Path:
    """Write the recommended my.cnf; returns where."""
    if path is None:
        path = settings.HOME / "recommended" / f"study-{recommendation.study_id}.cnf"
        path.parent.mkdir(exist_ok=True)
    write_whole(path, my_cnf_of(recommendation))
    return path


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; raises OSError."""
    # A name that nobody can foresee: the place may be /tmp and we may be root.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("x") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
