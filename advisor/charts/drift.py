"""Host drift: the baseline's runs over wall time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from advisor.charts.figure import Figure
from advisor.charts.palette import BLUE, GREEN, GREY, PURPLE, RED
from advisor.charts.text import plain
from advisor.wording.addresses import run_url
from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.boards import Board
from tuning.results.run_list import RunLine

FIRST, REPLICATE, PAIR = "first run", "replicate", "confirmation"


@dataclass(frozen=True)
class BaselineRun:
    """tpmP in New-Orders per minute; `kind` is one of FIRST, REPLICATE, PAIR."""

    kind: str
    started_at: datetime
    tpmP: float
    block: int
    url: str


@dataclass(frozen=True)
class VoidRun:
    """A disturbed run of any candidate: it has a time but no result."""

    candidate: str
    started_at: datetime
    reason: str
    url: str


@dataclass(frozen=True)
class DriftSeries:
    runs: list[BaselineRun]
    void: list[VoidRun]


def drift_series(board: Board, history: Iterable[RunLine]) -> DriftSeries:
    """The baseline's runs that count, and every void run of the board's candidates."""
    runs = []
    for slot in (*board.slots, *board.pair_slots):
        run = slot.run
        counts = run.state == RunState.OK and run.tpmP is not None
        if not slot.candidate.is_baseline or not counts or run.started_at is None:
            continue
        is_pair = slot.purpose == SlotPurpose.CONFIRMATION
        kind = PAIR if is_pair else REPLICATE if slot.replicate else FIRST
        runs.append(
            BaselineRun(kind, run.started_at, run.tpmP or 0.0, slot.block, run_url(run.pk))
        )
    void = [
        VoidRun(
            line.slot.candidate.name, line.run.started_at, line.run.reason, run_url(line.run.pk)
        )
        for line in history
        if line.run.state == RunState.DISTURBED
        and line.run.started_at is not None
        and line.slot.candidate.name in board.candidates
        and (line.slot.device_id, line.slot.workload_id) == (board.device.pk, board.workload.pk)
    ]
    return DriftSeries(sorted(runs, key=lambda run: run.started_at), void)


def drift_figure(series: DriftSeries) -> Figure:
    """tpmP over wall time; void runs are crosses at the bottom, without a value."""
    figure = Figure()
    for kind, colour, symbol in (
        (FIRST, BLUE, "circle"),
        (REPLICATE, GREEN, "circle-open"),
        (PAIR, PURPLE, "diamond"),
    ):
        runs = [run for run in series.runs if run.kind == kind]
        if not runs:
            continue
        figure.add_scatter(
            x=[run.started_at for run in runs],
            y=[run.tpmP for run in runs],
            name=kind,
            mode="lines+markers",
            line={"color": colour, "width": 1},
            marker={"color": colour, "size": 8, "symbol": symbol},
            customdata=[[run.block, run.url] for run in runs],
            hovertemplate=(
                f"{kind}, block %{{customdata[0]}}<br>%{{y:,.0f}} tpmP<br>%{{x|%H:%M:%S}}"
                "<extra></extra>"
            ),
        )
    if series.void:
        figure.add_scatter(
            x=[run.started_at for run in series.void],
            y=[0.03] * len(series.void),
            yaxis="y2",
            name="disturbed (void)",
            mode="markers",
            marker={"color": RED, "size": 9, "symbol": "x"},
            customdata=[[plain(f"{run.candidate}: {run.reason}"), run.url] for run in series.void],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
        for run in series.void:
            figure.add_vline(x=run.started_at, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_xaxes(title_text="wall time, UTC", zeroline=False)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(
        yaxis={"title": {"text": "tpmP of the baseline<br>New-Orders per minute"}},
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        showlegend=True,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0},
        margin={"l": 8, "r": 8, "t": 48, "b": 8},
        height=340,
    )
    return figure
