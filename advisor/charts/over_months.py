"""A figure over months: a point for each study or gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.charts.figure import Figure
from advisor.charts.style import lay_out, plain, rounded, series_style


@dataclass(frozen=True)
class DrawnPoint:
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
        style = series_style(index)
        figure.add_scatter(
            x=[point.at for point in points],
            y=[rounded(point.value) for point in points],
            name=plain(name),
            mode="markers",
            marker={**style.marker, "size": 8},
            customdata=[["<br>".join(map(plain, point.texts)), point.url] for point in points],
            hovertemplate="%{x|%Y-%m-%d}<br>%{customdata[0]}<extra></extra>",
        )
    figure.update_xaxes(title_text=x_title, zeroline=False)
    figure.update_yaxes(title_text=y_title, zeroline=False)
    return lay_out(figure, 340, legend=len(series) > 1)
