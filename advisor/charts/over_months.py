"""A figure over months: a point for each study or gate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from advisor.charts.figure import Figure, add_points, lay_out, new_figure
from advisor.charts.style import plain, rounded, series_style


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
    figure = new_figure()
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
