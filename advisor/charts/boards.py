"""All charts of a board, by the end of their key."""

from __future__ import annotations

from collections.abc import Iterable

import plotly.graph_objects as go

from advisor.charts.candidates import candidates_figure, candidates_series
from advisor.charts.drift import drift_figure, drift_series
from advisor.charts.intervals import intervals_figure, intervals_series
from advisor.charts.pareto import pareto_figure, pareto_series
from tuning.results.boards import Board
from tuning.results.history import RunLine
from tuning.statistics.ranking import Metric


def board_figures(
    board: Board, history: Iterable[RunLine], metric: Metric, p95_ms: float | None = None
) -> dict[str, go.Figure]:
    """The charts that have data; "" is the chart of single runs."""
    series = candidates_series(board)
    if not series.runs:
        return {}
    figures = {"": candidates_figure(series)}
    intervals = intervals_series(board, metric)
    if intervals.effects:
        figures["intervals"] = intervals_figure(intervals)
    points = pareto_series(board, p95_ms)
    if points.points:
        figures["pareto"] = pareto_figure(points)
    drift = drift_series(board, history)
    if drift.runs:
        figures["drift"] = drift_figure(drift)
    return figures
