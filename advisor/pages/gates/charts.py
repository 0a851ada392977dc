"""The history of a gate's name: its candidates and baselines over time, a chart for each limit."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from advisor.charts.figure import Figure
from advisor.charts.over_months import UNITS, DrawnPoint, figure_text, months_figure
from tuning.comparison.history import GatePoint
from tuning.statistics.aim import limit_scale, metric_name
from tuning.statistics.data import Metric

X_TITLE = "when the gate was created, UTC"


def limited_metrics(points: Sequence[GatePoint]) -> list[Metric]:
    """Return the metrics that had a limit in any of the gates."""
    return [metric for metric in Metric if any(metric in point.limits for point in points)]


def gate_figures(points: Sequence[GatePoint]) -> dict[str, Figure]:
    """Return the figures by metric; none for a single gate."""
    figures = {}
    for metric in limited_metrics(points):
        seen = [(point, both) for point in points if (both := point.figures(metric))]
        drawn = [
            (name, [_drawn(metric, point, both[at]) for point, both in seen])
            for at, name in enumerate(("candidates", "baselines"))
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
        url=reverse("gate-detail", args=[point.pk]),
    )
