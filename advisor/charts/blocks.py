"""Every run of a board as response time against throughput, joined in the order of the blocks."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.charts.figure import Figure
from advisor.charts.latency import LEGEND
from advisor.charts.palette import series_style
from advisor.charts.text import plain
from advisor.wording.addresses import run_url
from benchmarks.counted import counted
from benchmarks.models import RunState
from tuning.results.boards import Board


@dataclass(frozen=True)
class BlockRun:
    """tpmP in New-Orders per minute, p95 in ms."""

    block: int
    tpmP: float
    p95_ms: float
    url: str


def blocks_series(board: Board, names: list[str]) -> dict[str, list[BlockRun]]:
    """By candidate its successful runs in the order of the study; none without any."""
    found: dict[str, list[BlockRun]] = {name: [] for name in names}
    for slot in sorted(board.slots, key=lambda slot: slot.order):
        run = slot.run
        if slot.candidate.name not in found or run.state != RunState.OK:
            continue
        if run.tpmP is not None and run.p95_ms is not None:
            one = BlockRun(slot.block, run.tpmP, run.p95_ms, run_url(run.pk))
            found[slot.candidate.name].append(one)
    return {name: runs for name, runs in found.items() if runs}


def blocks_figure(series: dict[str, list[BlockRun]]) -> Figure:
    """tpmP on x, p95 on y: down and to the right is better."""
    figure = Figure()
    for index, (name, runs) in enumerate(series.items()):
        style = series_style(index)
        figure.add_scatter(
            x=[round(run.tpmP, 1) for run in runs],
            y=[round(run.p95_ms, 2) for run in runs],
            name=plain(name),
            mode="lines+markers",
            line={"color": style.colour, "dash": style.dash, "width": 1},
            marker={"color": style.colour, "symbol": style.symbol, "size": 9},
            customdata=[[run.block, run.url] for run in runs],
            hovertemplate=(
                f"{plain(name)}, block %{{customdata[0]}} of {counted(len(runs), 'run')}<br>"
                "%{x:,.0f} tpmP, p95 %{y:.1f} ms<extra></extra>"
            ),
        )
    figure.update_xaxes(title_text="tpmP, New-Orders per minute (right is better)", zeroline=False)
    figure.update_yaxes(
        title_text="p95 response time<br>of New-Order, ms (down is better)", zeroline=False
    )
    figure.update_layout(
        showlegend=True, legend=LEGEND, margin={"l": 8, "r": 12, "t": 48, "b": 8}, height=380
    )
    return figure
