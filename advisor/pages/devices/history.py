"""The baseline of a device over months: one chart and one sentence."""

from __future__ import annotations

from advisor.charts.figure import Figure
from advisor.charts.over_months import DrawnPoint, months_figure
from advisor.wording import addresses
from advisor.wording.formatting import significant
from advisor.wording.history import UNITS, recent_sentence
from tuning.comparison.baseline_history import BaselineHistory, Point
from tuning.statistics.data import Metric

X_TITLE = "day on which the study's last run ended, UTC"


def history_sentence(history: BaselineHistory) -> str:
    """Summarize the newest studies with the same server, kernel and settings."""
    return recent_sentence("tpmP", "studies", history.recent)


def history_figure(history: BaselineHistory) -> Figure | None:
    """Draw a series for each set of studies that can be compared; None if all have one point."""
    series = [
        (f"{number}: {points[0].server}", [_drawn(point) for point in points])
        for number, points in enumerate(history.series, start=1)
    ]
    return months_figure(series, f"tpmP, {UNITS[Metric.TPMP]}", X_TITLE)


def _drawn(point: Point) -> DrawnPoint:
    texts = point.name, f"{significant(point.tpmP)} {UNITS[Metric.TPMP]}"
    address = addresses.gate_url if point.is_gate else addresses.study_url
    return DrawnPoint(point.at, point.tpmP, texts, address(point.study))
