"""The charts of a baseline's history: one for each figure."""

from __future__ import annotations

from dataclasses import replace

from advisor.charts.figure import Figure as Chart
from advisor.charts.levels import DrawnPoint, DrawnSeries, Mark, levels_figure
from advisor.pages.history.shifts import study_url
from advisor.wording.history import UNITS, bounds_text, figure_text
from benchmarks.counted import counted
from tuning.comparison.baseline_history import BaselineHistory, Figure, Series
from tuning.statistics.aim import limit_scale
from tuning.statistics.data import Metric

# With two runs an interval is many times wider than what they differ by.
_MIN_RUNS = 3
Y_TITLES = {
    Metric.TPMP: f"tpmP, {UNITS[Metric.TPMP]}",
    Metric.P95: f"p95, {UNITS[Metric.P95]}",
    Metric.SERVER_PATH_LENGTH: f"path length, {UNITS[Metric.SERVER_PATH_LENGTH]}",
}
X_TITLE = "day on which the study's last run ended, UTC"


def history_figures(history: BaselineHistory) -> dict[str, Chart]:
    """By the metric's value; those without a figure are left out."""
    marks = [
        Mark(series.points[0].at, mark_label(index))
        for index, series in enumerate(history.series)
        if index
    ]
    found = {}
    for metric in Metric:
        drawn = [
            _drawn(metric, series, index)
            for index, series in enumerate(history.series)
            if series.of(metric)
        ]
        if drawn:
            found[metric.value] = levels_figure(drawn, Y_TITLES[metric], X_TITLE, marks)
    return found


def mark_label(index: int) -> str:
    """The letter of a series by its index, from 1; "" for the first, which follows none."""
    if index > 26:
        return f"{index}"
    return chr(ord("A") + index - 1) if index else ""


def _drawn(metric: Metric, series: Series, index: int) -> DrawnSeries:
    unit = limit_scale(metric)
    label = mark_label(index)
    points = []
    for point in series.of(metric):
        found = point.figures[metric]
        points.append(
            DrawnPoint(
                at=point.at,
                value=found.mean / unit,
                texts=(point.name, _text(metric, found)),
                url=study_url(point.study, is_gate=point.is_gate),
                low=_bound(found, found.low, unit),
                high=_bound(found, found.high, unit),
            )
        )
    return DrawnSeries(
        name=f"{label}: {series.server}" if label else series.server,
        points=points,
        levels=[replace(one, mean=one.mean / unit) for one in series.levels[metric]],
    )


def _bound(found: Figure, bound: float | None, unit: float) -> float | None:
    return None if bound is None or found.runs < _MIN_RUNS else bound / unit


def _text(metric: Metric, found: Figure) -> str:
    bounds = bounds_text(metric, found)
    interval = f" (95 %: {bounds})" if bounds else ""
    runs = counted(found.runs, "run")
    return f"{figure_text(metric, found.mean)} {UNITS[metric]}{interval}, {runs}"
