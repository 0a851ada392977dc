"""The history of a gate's name: its candidates and baselines over time, a chart for each limit."""

from __future__ import annotations

from dataclasses import replace

from advisor.charts.figure import Figure
from advisor.charts.levels import DrawnPoint, DrawnSeries, levels_figure
from advisor.pages.history.charts import Y_TITLES
from advisor.pages.history.shifts import study_url
from advisor.wording.history import UNITS, figure_text
from tuning.results.gate_history import GateHistory, GatePoint, measured
from tuning.statistics.aim import limit_scale
from tuning.statistics.data import Metric

X_TITLE = "when the gate was created, UTC"


def gate_figures(history: GateHistory) -> dict[str, Figure]:
    """By the metric's value; one point is no history."""
    figures = {}
    for index, metric in enumerate(history.metrics):
        seen = measured(history.points, index)
        if len(seen) < 2:
            continue
        unit = limit_scale(metric)
        drawn = [
            DrawnSeries(
                "candidates",
                [_drawn(metric, point, value) for point, value, _ in seen],
                [replace(one, mean=one.mean / unit) for one in history.levels[index]],
            ),
            DrawnSeries("baselines", [_drawn(metric, point, value) for point, _, value in seen]),
        ]
        figures[metric.value] = levels_figure(drawn, Y_TITLES[metric], X_TITLE)
    return figures


def _drawn(metric: Metric, point: GatePoint, value: float) -> DrawnPoint:
    return DrawnPoint(
        at=point.created_at,
        value=value / limit_scale(metric),
        texts=(
            f"gate {point.pk}, {point.verdict}: {point.candidate}",
            f"{figure_text(metric, value)} {UNITS[metric]}",
        ),
        url=study_url(point.pk, is_gate=True),
    )
