"""What the page of a baseline's history shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from advisor.pages.history.charts import mark_label
from advisor.pages.history.rows import point_rows
from advisor.pages.history.shifts import baseline_rows
from advisor.wording.history import (
    UNITS,
    day,
    differences_text,
    history_sentence,
)
from benchmarks.models import Device
from tuning.comparison.baseline_history import (
    BaselineHistory,
    Trend,
    chosen_history,
)
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.change_points import MIN_POINTS
from tuning.statistics.data import Metric

#: So many studies are listed before the rest is folded.
SHOWN = 20
TONES = {Trend.SLOWER: "bad", Trend.FASTER: "good", Trend.OTHER: "busy"}


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
    newest = history.points[::-1]
    labels = {
        series.points[0].key: mark_label(index) for index, series in enumerate(history.series)
    }
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
        "rows": point_rows(newest[:SHOWN], labels),
        "older": point_rows(newest[SHOWN:], labels),
        "older_count": max(0, len(newest) - SHOWN),
    }


def _mark_rows(history: BaselineHistory) -> list[MarkRow]:
    return [
        MarkRow(mark_label(index), day(series.points[0].at), differences_text(series.differs))
        for index, series in enumerate(history.series)
        if index
    ]
