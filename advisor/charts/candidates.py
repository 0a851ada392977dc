"""The study's chart: tpmP and 95th-percentile response time of every candidate.

Each run is a dot, the median over the blocks a bar: with three blocks a median alone would hide
the scatter. Failed runs have no result and so no dot; the ranking table lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.charts.figure import Figure
from advisor.charts.palette import BLUE, GREY, ORANGE, faded
from advisor.charts.text import plain
from advisor.wording.addresses import run_url
from benchmarks.models import RunState
from tuning.results.boards import Board

# Two charts with one x axis, whose labels stand below the second.
_TWO_ROWS: dict[str, Any] = {
    "xaxis": {"anchor": "y", "domain": [0.0, 1.0], "matches": "x2", "showticklabels": False},
    "yaxis": {"anchor": "x", "domain": [0.545, 1.0]},
    "xaxis2": {"anchor": "y2", "domain": [0.0, 1.0]},
    "yaxis2": {"anchor": "x2", "domain": [0.0, 0.455]},
}


@dataclass(frozen=True)
class CandidateMedian:
    """A bar: medians over the blocks; tpmP in New-Orders per minute, p95 in ms."""

    candidate: str
    is_baseline: bool
    tpmP: float | None
    p95_ms: float | None


@dataclass(frozen=True)
class RunPoint:
    """A dot: one successful run."""

    candidate: str
    block: int
    tpmP: float
    p95_ms: float
    url: str


@dataclass(frozen=True)
class CandidatesSeries:
    """The data of the chart, best candidate first."""

    medians: list[CandidateMedian]
    runs: list[RunPoint]


def candidates_series(board: Board) -> CandidatesSeries:
    """The board's medians and single runs; empty lists before the first successful run."""
    medians = [
        CandidateMedian(
            candidate=row.candidate.name,
            is_baseline=row.candidate.is_baseline,
            tpmP=row.ranked.tpmP,
            p95_ms=row.ranked.p95_ms,
        )
        for row in board.rows
    ]
    runs = [
        RunPoint(
            candidate=slot.candidate.name,
            block=slot.block,
            tpmP=slot.run.tpmP,
            p95_ms=slot.run.p95_ms,
            url=run_url(slot.run_id),
        )
        for slot in board.slots
        if slot.run.state == RunState.OK
        and slot.run.tpmP is not None
        and slot.run.p95_ms is not None
    ]
    return CandidatesSeries(medians=medians, runs=runs)


def candidates_figure(series: CandidatesSeries) -> Figure:
    """Two rows with candidates on x: tpmP (higher is better) and p95 (lower is better)."""
    figure = Figure()
    figure.update_layout(**_TWO_ROWS)
    names = [median.candidate for median in series.medians]
    shown = [plain(name) for name in names]
    positions = list(range(len(names)))
    last = max((point.block for point in series.runs), default=1)
    dots = [names.index(point.candidate) + _offset(point.block, last) for point in series.runs]
    of_runs = [(plain(p.candidate), p.url, p.block) for p in series.runs]
    panels = (("tpmP", "", BLUE, ",.0f", ""), ("p95_ms", " ms", ORANGE, ".1f", "2"))
    for field, unit, colour, form, axis in panels:
        axes = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        figure.add_bar(
            x=positions,
            y=[getattr(median, field) for median in series.medians],
            customdata=shown,
            name="median",
            marker={"color": faded(colour, 0.35), "line": {"color": colour, "width": 1}},
            hovertemplate=f"%{{customdata}}<br>median %{{y:{form}}}{unit}<extra></extra>",
            **axes,
        )
        figure.add_scatter(
            x=dots,
            y=[getattr(point, field) for point in series.runs],
            name="one run",
            mode="markers",
            marker={"color": colour, "size": 9, "line": {"color": "white", "width": 1}},
            customdata=of_runs,
            hovertemplate=(
                "%{customdata[0]}, block %{customdata[2]}<br>"
                f"%{{y:{form}}}{unit}<extra></extra>"
            ),
            **axes,
        )
    _mark_baseline(figure, series)
    figure.update_xaxes(
        tickvals=positions,
        ticktext=shown,
        autotickangles=[0, -45, -90],
        ticklabeloverflow="allow",
        range=[-0.5, len(names) - 0.5],
        showgrid=False,
        zeroline=False,
    )
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(
        yaxis_title_text="tpmP<br>New-Orders per minute",
        yaxis2_title_text="p95 response time<br>of New-Order, ms",
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        bargap=0.45,
        height=460,
    )
    return figure


def _offset(block: int, last: int) -> float:
    """Dots are side by side in the order of their blocks, so that none hides another."""
    return 0.0 if last == 1 else 0.3 * ((block - 1) / (last - 1) - 0.5)


def _mark_baseline(figure: Figure, series: CandidatesSeries) -> None:
    """A dotted line at the baseline's medians, across all candidates."""
    baseline = next((median for median in series.medians if median.is_baseline), None)
    if baseline is None or len(series.medians) < 2:
        return
    for axis, level in (("", baseline.tpmP), ("2", baseline.p95_ms)):
        if level is not None:
            figure.add_shape(
                type="line",
                line={"color": GREY, "dash": "dot", "width": 1},
                **{"x0": 0, "x1": 1, "xref": f"x{axis} domain"},
                **{"y0": level, "y1": level, "yref": f"y{axis}"},
            )
