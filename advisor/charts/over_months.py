"""A figure over months: a chart with a point for each study or gate, and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from advisor.charts.figure import Figure, add_points, lay_out
from advisor.charts.style import plain, rounded, series_style
from advisor.wording.formatting import change_range, megacycles, percent_change, significant
from tuning.statistics.data import Metric
from tuning.statistics.ratios import NEWEST, Recent

#: Unit of a metric beside its figures.
UNITS = {
    Metric.THROUGHPUT: "transactions per minute",
    Metric.P95: "ms",
    Metric.SERVER_PATH_LENGTH: "Mcycles per transaction",
}


class DrawnPoint(NamedTuple):
    """A study or gate. texts: the lines of its hover box. url: opened by a click."""

    at: datetime
    value: float
    texts: Sequence[str]
    url: str


#: Points that may be compared, oldest first, by name.
Series = Sequence[tuple[str, Sequence[DrawnPoint]]]


def months_figure(series: Series, y_title: str, x_title: str) -> Figure | None:
    """Draw dates on x; None where no series has two points: a dot is no history.

    The y axis does not begin at zero: a few percent are the question.
    """
    if all(len(points) < 2 for _, points in series):
        return None
    figure = Figure()
    for index, (name, points) in enumerate(series):
        add_points(
            figure,
            [point.at for point in points],
            [rounded(point.value) for point in points],
            ["<br>".join(map(plain, (f"{one.at:%Y-%m-%d}", *one.texts))) for one in points],
            [point.url for point in points],
            name=plain(name),
            marker={**series_style(index).marker, "size": 8},
        )
    return lay_out(figure, 340, x=x_title, y=y_title, legend=len(series) > 1)


def figure_text(metric: Metric, value: float | None) -> str:
    """Return the figure in the metric's unit, without the unit's name."""
    return (megacycles if metric is Metric.SERVER_PATH_LENGTH else significant)(value)


def recent_sentence(figure: str, unit: str, found: Recent | None) -> str:
    """Return "throughput of the last 5 studies: -12.1 % from the median of the 14 before,
    outside of the range in which those lay (-1.0 to +0.8 %).". `unit`: "studies" or "gates".
    """
    if found is None:
        return f"Too few {unit} to compare: the last {NEWEST} need {NEWEST} before them."
    where = "outside of" if found.is_outside else "within"
    return (
        f"{figure} of the last {NEWEST} {unit}: {percent_change(found.ratio)} from the median of "
        f"the {found.before} before, {where} the range in which those lay "
        f"({change_range(found.low, found.high)})."
    )
