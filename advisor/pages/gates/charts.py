"""The history of a gate's name: its candidates and baselines over time, a chart for each limit."""

from __future__ import annotations

from advisor.charts.figure import Figure
from advisor.charts.over_months import DrawnPoint, months_figure
from advisor.wording import addresses
from advisor.wording.history import UNITS, figure_text
from tuning.results.gate_history import GateHistory, GatePoint, measured
from tuning.statistics.aim import limit_scale, metric_name
from tuning.statistics.data import Metric

X_TITLE = "when the gate was created, UTC"


def gate_figures(history: GateHistory) -> dict[str, Figure]:
    """By the metric's value; one point is no history."""
    figures = {}
    for index, metric in enumerate(history.metrics):
        seen = measured(history.points, index)
        drawn = [
            ("candidates", [_drawn(metric, point, value) for point, value, _ in seen]),
            ("baselines", [_drawn(metric, point, value) for point, _, value in seen]),
        ]
        figure = months_figure(drawn, f"{metric_name(metric)}, {UNITS[metric]}", X_TITLE)
        if figure is not None:
            figures[metric.value] = figure
    return figures


def _drawn(metric: Metric, point: GatePoint, value: float) -> DrawnPoint:
    return DrawnPoint(
        at=point.created_at,
        value=value / limit_scale(metric),
        texts=(
            f"gate {point.pk}, {point.verdict}: {point.candidate}",
            f"{figure_text(metric, value)} {UNITS[metric]}",
        ),
        url=addresses.gate_url(point.pk),
    )
