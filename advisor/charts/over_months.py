"""A figure over months: a point for each study or gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.charts.figure import Figure
from advisor.charts.latency import LEGEND
from advisor.charts.palette import series_style
from advisor.charts.text import plain


@dataclass(frozen=True)
class DrawnPoint:
    """`texts` are the lines that are shown when it is pointed at, `url` is opened by a click."""

    at: datetime
    value: float
    texts: Sequence[str]
    url: str


@dataclass(frozen=True)
class DrawnSeries:
    """Points that may be compared, oldest first."""

    name: str
    points: Sequence[DrawnPoint]


def months_figure(series: Sequence[DrawnSeries], y_title: str, x_title: str) -> Figure:
    """Dates on x. The y axis does not begin at zero: a few percent are the question."""
    figure = Figure()
    for index, one in enumerate(series):
        style = series_style(index)
        figure.add_scatter(
            x=[point.at for point in one.points],
            y=[float(f"{point.value:.5g}") for point in one.points],
            name=plain(one.name),
            mode="markers",
            marker={"color": style.colour, "symbol": style.symbol, "size": 8},
            customdata=[["<br>".join(map(plain, point.texts)), point.url] for point in one.points],
            hovertemplate="%{x|%Y-%m-%d}<br>%{customdata[0]}<extra></extra>",
        )
    has_legend = len(series) > 1
    figure.update_xaxes(title_text=x_title, zeroline=False)
    figure.update_yaxes(title_text=y_title, zeroline=False)
    figure.update_layout(
        showlegend=has_legend,
        legend=LEGEND,
        margin={"l": 8, "r": 8, "t": 48 if has_legend else 16, "b": 8},
        height=340,
    )
    return figure
