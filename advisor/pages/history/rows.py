"""The rows of the table of a baseline's studies: as templates half of the page's time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from advisor.pages.history.shifts import study_url
from advisor.wording.formatting import ABSENT
from advisor.wording.history import bounds_text, figure_text
from tuning.comparison.baseline_history import Point
from tuning.statistics.data import Metric

#: On a phone, where each study is a block of figures.
_LABELS = {
    Metric.TPMP: "tpmP",
    Metric.P95: "p95, ms",
    Metric.SERVER_PATH_LENGTH: "Path length, Mcycles",
}


def point_rows(points: Iterable[Point], labels: Mapping[str, str]) -> SafeString:
    """With the columns of `templates/history/_points.html`.

    `labels`: of the series by their keys; there is no column for them if there is only one.
    """
    return SafeString("\n".join(_row(point, labels) for point in points))


def _row(point: Point, labels: Mapping[str, str]) -> str:
    first = point.figures.get(Metric.TPMP)
    runs = first.runs if first else ""
    label = labels[point.key] or "first"
    series = f'<td role="cell" data-label="Series">{label}</td>' if len(labels) > 1 else ""
    gate = ' <span class="tag">gate</span>' if point.is_gate else ""
    url = study_url(point.study, is_gate=point.is_gate)
    return (
        '<tr role="row"><th role="rowheader" scope="row" class="nowrap">'
        f"{localtime(point.at):%Y-%m-%d %H:%M}</th>"
        f"{''.join(_cell(metric, point) for metric in Metric)}"
        f'<td role="cell" class="num" data-label="Runs">{runs}</td>'
        f'{series}<td role="cell" class="name"><a href="{url}">{escape(point.name)}</a>'
        f"{gate}</td></tr>"
    )


def _cell(metric: Metric, point: Point) -> str:
    found = point.figures.get(metric)
    if found is None:
        return f'<td role="cell" class="num nothing" data-label="">{ABSENT}</td>'
    bounds = bounds_text(metric, found)
    interval = f'<span class="unit">{escape(bounds)}</span>' if bounds else ""
    return (
        f'<td role="cell" class="num" data-label="{_LABELS[metric]}">'
        f"{escape(figure_text(metric, found.mean))}{interval}</td>"
    )
