"""The charts of a board: every run, effects, throughput against its price, host drift."""

from __future__ import annotations

from typing import Any

from advisor.charts.effects import intervals_figure, lines_figure
from advisor.charts.figure import Figure, add_points, lay_out, run_url
from advisor.charts.pareto import pareto_figure
from advisor.charts.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, faded, plain
from tuning.results.document import Board, StudyDocument
from tuning.statistics.data import Metric

# Two charts with one x axis, whose labels stand below the second.
_TWO_ROWS: dict[str, Any] = {
    "xaxis": {"anchor": "y", "domain": [0.0, 1.0], "matches": "x2", "showticklabels": False},
    "yaxis": {"anchor": "x", "domain": [0.545, 1.0]},
    "xaxis2": {"anchor": "y2", "domain": [0.0, 1.0]},
    "yaxis2": {"anchor": "x2", "domain": [0.0, 0.455]},
}
#: The second y axis, unseen, on which points without a value are drawn at the bottom.
WITHOUT_VALUES = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
_PANELS = (
    (Metric.THROUGHPUT, "throughput<br>{unit}", "", BLUE, ",.0f", ""),
    (Metric.P95, "p95 response time<br>of transactions, ms", " ms", ORANGE, ".1f", "2"),
)


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
    """Draw each run as a dot and the medians as bars, throughput above p95; None without any run.

    With three blocks a median alone would hide the scatter. A candidate without a result keeps its
    place.
    """
    runs = [
        run
        for run in document.board_runs(board, "block")
        if run.is_ok and run.figures.throughput is not None and run.figures.p95_ms is not None
    ]
    if not runs:
        return None
    places = {row.candidate_id: at for at, row in enumerate(board.rows)}
    names = [plain(document.candidate[pk].name) for pk in places]
    last = max(run.block for run in runs)
    x = [places[run.candidate_id] + _offset(run.block, last) for run in runs]
    hover = [(names[places[run.candidate_id]], run_url(run.id), run.block) for run in runs]
    baseline = board.row(board.baseline_id) if len(board.rows) > 1 else None
    figure = Figure()
    figure.update(**_TWO_ROWS)
    for metric, title, unit, colour, form, axis in _PANELS:
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
            y=[run.figures.of(metric) for run in runs],
            name="one run",
            mode="markers",
            marker={"color": colour, "size": 9, "line": {"color": "white", "width": 1}},
            customdata=hover,
            hovertemplate=f"%{{customdata[0]}}, block %{{customdata[2]}}<br>"
            f"%{{y:{form}}}{unit}<extra></extra>",
            **axes,
        )
        level = baseline.figures.of(metric) if baseline else None
        if level is not None:
            ends = {"x0": 0, "x1": 1, "xref": f"x{axis} domain", "yref": f"y{axis}"}
            line = {"color": GREY, "dash": "dot", "width": 1}
            figure.add_shape("line", y0=level, y1=level, line=line, **ends)
        text = title.format(unit=document.unit_on(board))
        figure.update(**{f"yaxis{axis}": {"title": {"text": text}}})
    figure.update_axes(
        "x",
        tickvals=list(places.values()),
        ticktext=names,
        autotickangles=[0, -45, -90],
        ticklabeloverflow="allow",
        range=[-0.5, len(names) - 0.5],
        showgrid=False,
    )
    figure.update_axes("y", rangemode="tozero")
    figure.update(bargap=0.45)
    return lay_out(figure, 460, legend=False)


def _offset(block: int, last: int) -> float:
    """Put a candidate's dots side by side in the order of blocks: none hides another."""
    return 0.0 if last == 1 else 0.3 * ((block - 1) / (last - 1) - 0.5)


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
    figure, per_minute = Figure(), document.unit_on(board)
    for name, colour, symbol, runs in lines:
        if runs:
            figure.add_scatter(
                x=[run.started_at for run in runs],
                y=[run.figures.throughput for run in runs],
                name=name,
                mode="lines+markers",
                line={"color": colour, "width": 1},
                marker={"color": colour, "size": 8, "symbol": symbol},
                customdata=[[run.block, run_url(run.id)] for run in runs],
                hovertemplate=f"{name}, block %{{customdata[0]}}<br>%{{y:,.0f}} {per_minute}<br>"
                "%{x|%H:%M:%S}<extra></extra>",
            )
    _mark_void(figure, document, board)
    figure.update_axes("y", rangemode="tozero")
    lay_out(figure, 340, x="wall time, UTC", y=f"throughput<br>{per_minute}")
    figure.update(yaxis2=WITHOUT_VALUES)
    return figure


def _mark_void(figure: Figure, document: StudyDocument, board: Board) -> None:
    names = {row.candidate_id: document.candidate[row.candidate_id].name for row in board.rows}
    void = [
        run
        for run in document.runs
        if run.state == "disturbed"
        and run.started_at is not None
        and run.candidate_id in names
        and (run.device_id, run.workload_id) == board.place
    ]
    if not void:
        return
    add_points(
        figure,
        [run.started_at for run in void],
        [0.03] * len(void),
        [plain(f"{names[run.candidate_id]}: {run.reason}") for run in void],
        [run_url(run.id) for run in void],
        yaxis="y2",
        name="disturbed (void)",
        marker={"color": RED, "size": 9, "symbol": "x"},
    )
    for run in void:
        figure.add_line_at(x=run.started_at, colour=GREY)
