"""What the page of a baseline's history shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.pages.history.charts import mark_label
from advisor.pages.history.shifts import baseline_rows, study_url
from advisor.wording.history import (
    UNITS,
    bounds_text,
    day,
    differences_text,
    figure_text,
    history_sentence,
)
from benchmarks.models import Device
from tuning.comparison.baseline_history import (
    BaselineHistory,
    Point,
    Trend,
    chosen_history,
)
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.change_points import MIN_POINTS
from tuning.statistics.data import Metric

#: So many studies are listed before the rest is folded.
SHOWN = 20
#: On a phone, where each study is a block of figures.
_LABELS = {
    Metric.TPMP: "tpmP",
    Metric.P95: "p95, ms",
    Metric.SERVER_PATH_LENGTH: "Path length, Mcycles",
}
TONES = {Trend.SLOWER: "bad", Trend.FASTER: "good", Trend.OTHER: "busy"}


@dataclass(frozen=True)
class Cell:
    """A figure of a study with its interval, as text; "" where there is none."""

    label: str
    text: str
    interval: str
    runs: int


@dataclass(frozen=True)
class PointRow:
    """One study. `label`: of the series that it belongs to."""

    point: Point
    url: str
    label: str
    cells: list[Cell | None]


@dataclass(frozen=True)
class MarkRow:
    """A day on which a new series begins, and what was another before."""

    label: str
    day: str
    text: str


def history_context(device: Device, token: str) -> dict[str, Any]:
    lines, history = chosen_history(device, token)
    context: dict[str, Any] = {
        "device": device,
        "lines": lines,
        "history": history,
        "least": MIN_POINTS,
    }
    if history is None:
        return context
    rows = _point_rows(history)
    shifts = [
        shift for series in history.series for metric in Metric for shift in series.shifts(metric)
    ]
    return context | {
        "sentence": history_sentence(history),
        "tone": TONES.get(history.trend, ""),
        "charts": [
            (metric.value, FULL_NAMES[metric], UNITS[metric])
            for metric in Metric
            if any(series.of(metric) for series in history.series)
        ],
        "shifts": baseline_rows(shifts),
        "marks": _mark_rows(history),
        "columns": [(FULL_NAMES[metric], UNITS[metric]) for metric in Metric],
        "rows": rows[:SHOWN],
        "older": rows[SHOWN:],
    }


def _mark_rows(history: BaselineHistory) -> list[MarkRow]:
    return [
        MarkRow(mark_label(index), day(series.points[0].at), differences_text(series.differs))
        for index, series in enumerate(history.series)
        if index
    ]


def _point_rows(history: BaselineHistory) -> list[PointRow]:
    """Newest first."""
    labels = {
        series.points[0].key: mark_label(index) for index, series in enumerate(history.series)
    }
    return [
        PointRow(
            point,
            study_url(point.study, is_gate=point.is_gate),
            labels[point.key],
            [_cell(metric, point) for metric in Metric],
        )
        for point in reversed(history.points)
    ]


def _cell(metric: Metric, point: Point) -> Cell | None:
    found = point.figures.get(metric)
    if found is None:
        return None
    return Cell(
        _LABELS[metric],
        figure_text(metric, found.mean),
        bounds_text(metric, found),
        found.runs,
    )
