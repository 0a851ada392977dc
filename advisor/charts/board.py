"""The charts of a board: every run, effects, throughput against its price, host drift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.charts.effects import intervals_figure, lines_figure
from advisor.charts.figure import Figure
from advisor.charts.pareto import pareto_figure
from advisor.charts.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, faded, lay_out, plain
from advisor.wording.addresses import run_url
from tuning.results.document import Board, RunFacts, StudyDocument
from tuning.statistics.data import Metric

# Two charts with one x axis, whose labels stand below the second.
_TWO_ROWS: dict[str, Any] = {
    "xaxis": {"anchor": "y", "domain": [0.0, 1.0], "matches": "x2", "showticklabels": False},
    "yaxis": {"anchor": "x", "domain": [0.545, 1.0]},
    "xaxis2": {"anchor": "y2", "domain": [0.0, 1.0]},
    "yaxis2": {"anchor": "x2", "domain": [0.0, 0.455]},
}


def board_figures(
    document: StudyDocument, board: Board, metric: Metric, p95_ms: float | None = None
) -> dict[str, Figure]:
    """Return the charts that have data, by the end of their key; "" is the chart of every run.

    `p95_ms`: the reader's limit.
    """
    figures = {
        "": every_run_figure(document, board),
        "intervals": intervals_figure(document, board, metric),
        "pareto": pareto_figure(document, board, p95_ms),
        "drift": drift_figure(document, board),
        "lines": lines_figure(board.ablation) if board.ablation else None,
    }
    return {key: figure for key, figure in figures.items() if figure is not None}


def every_run_figure(document: StudyDocument, board: Board) -> Figure | None:
    """Draw each run as a dot and the medians as bars, tpmP above p95; None without any run.

    With three blocks a median alone would hide the scatter. A candidate without a result keeps its
    place.
    """
    runs = [
        (run, run.figures.throughput, run.figures.p95_ms)
        for run in document.board_runs(board, "block")
        if run.is_ok and run.figures.throughput is not None and run.figures.p95_ms is not None
    ]
    if not runs:
        return None
    places = {row.candidate_id: at for at, row in enumerate(board.rows)}
    names = [plain(document.candidate[pk].name) for pk in places]
    last = max(run.block for run, _, _ in runs)
    x = [places[run.candidate_id] + _offset(run.block, last) for run, _, _ in runs]
    hover = [(names[places[run.candidate_id]], run_url(run.id), run.block) for run, _, _ in runs]
    figure = Figure()
    figure.update_layout(**_TWO_ROWS)
    panels = (
        (Metric.TPMP, [tpmp for _, tpmp, _ in runs], "", BLUE, ",.0f", ""),
        (Metric.P95, [p95 for _, _, p95 in runs], " ms", ORANGE, ".1f", "2"),
    )
    for metric, dots, unit, colour, form, axis in panels:
        axes = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        figure.add_bar(
            x=list(places.values()),
            y=[row.figures.of(metric) for row in board.rows],
            customdata=names,
            name="median",
            marker={"color": faded(colour, 0.35), "line": {"color": colour, "width": 1}},
            hovertemplate=f"%{{customdata}}<br>median %{{y:{form}}}{unit}<extra></extra>",
            **axes,
        )
        figure.add_scatter(
            x=x,
            y=dots,
            name="one run",
            mode="markers",
            marker={"color": colour, "size": 9, "line": {"color": "white", "width": 1}},
            customdata=hover,
            hovertemplate=f"%{{customdata[0]}}, block %{{customdata[2]}}<br>"
            f"%{{y:{form}}}{unit}<extra></extra>",
            **axes,
        )
        _mark_baseline(figure, board, metric, axis)
    figure.update_xaxes(
        tickvals=list(places.values()),
        ticktext=names,
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
        bargap=0.45,
    )
    return lay_out(figure, 460, legend=False)


def _offset(block: int, last: int) -> float:
    """Put a candidate's dots side by side in the order of blocks: none hides another."""
    return 0.0 if last == 1 else 0.3 * ((block - 1) / (last - 1) - 0.5)


def _mark_baseline(figure: Figure, board: Board, metric: Metric, axis: str) -> None:
    """Draw a dotted line at the baseline's median, across all candidates."""
    baseline = board.row(board.baseline_id)
    level = baseline.figures.of(metric) if baseline else None
    if level is not None and len(board.rows) > 1:
        figure.add_shape(
            type="line",
            line={"color": GREY, "dash": "dot", "width": 1},
            **{"x0": 0, "x1": 1, "xref": f"x{axis} domain"},
            **{"y0": level, "y1": level, "yref": f"y{axis}"},
        )


def drift_figure(document: StudyDocument, board: Board) -> Figure | None:
    """Draw the runs of the baseline and of the winner over wall time: does the host drift?

    Disturbed runs of any candidate are crosses without a value. None before the baseline has run.
    """
    counted = [
        run
        for run in document.board_runs(board, "block", "confirmation")
        if run.is_ok and run.figures.throughput is not None and run.started_at is not None
    ]
    ours = [run for run in counted if run.candidate_id == board.baseline_id]
    if not ours:
        return None
    winner = board.recommendation.candidate_id if board.recommendation else board.advice.winner_id
    pairs = [run for run in ours if run.purpose == "confirmation"]
    blocks = [run for run in ours if run.purpose == "block"]
    lines = [
        ("first run", BLUE, "circle", [run for run in blocks if not run.replicate]),
        ("replicate", GREEN, "circle-open", [run for run in blocks if run.replicate]),
        ("confirmation", PURPLE, "diamond", pairs),
    ]
    if winner is not None and winner != board.baseline_id:
        name = plain(document.candidate[winner].name)
        lines += [(name, ORANGE, "square", [r for r in counted if r.candidate_id == winner])]
    figure = Figure()
    for name, colour, symbol, runs in lines:
        if runs:
            _over_time(figure, name, colour, symbol, sorted(runs, key=lambda run: run.order))
    _mark_void(figure, document, board)
    figure.update_xaxes(title_text="wall time, UTC", zeroline=False)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(
        yaxis_title_text="tpmP<br>New-Orders per minute",
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
    )
    return lay_out(figure, 340)


def _over_time(
    figure: Figure, name: str, colour: str, symbol: str, runs: Sequence[RunFacts]
) -> None:
    figure.add_scatter(
        x=[run.started_at for run in runs],
        y=[run.figures.throughput for run in runs],
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 1},
        marker={"color": colour, "size": 8, "symbol": symbol},
        customdata=[[run.block, run_url(run.id)] for run in runs],
        hovertemplate=f"{name}, block %{{customdata[0]}}<br>%{{y:,.0f}} tpmP<br>"
        "%{x|%H:%M:%S}<extra></extra>",
    )


def _mark_void(figure: Figure, document: StudyDocument, board: Board) -> None:
    ranked = {row.candidate_id for row in board.rows}
    void = [
        run
        for run in document.runs
        if run.state == "disturbed"
        and run.started_at is not None
        and run.candidate_id in ranked
        and (run.device_id, run.workload_id) == board.place
    ]
    if not void:
        return
    names = {pk: document.candidate[pk].name for pk in ranked}
    figure.add_scatter(
        x=[run.started_at for run in void],
        y=[0.03] * len(void),
        yaxis="y2",
        name="disturbed (void)",
        mode="markers",
        marker={"color": RED, "size": 9, "symbol": "x"},
        customdata=[
            [plain(f"{names[run.candidate_id]}: {run.reason}"), run_url(run.id)] for run in void
        ],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    for run in void:
        figure.add_vline(x=run.started_at, line={"color": GREY, "dash": "dot", "width": 1})
