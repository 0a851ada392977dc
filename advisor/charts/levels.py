"""A figure over months: a point for each study, the levels between changes, and marked days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.charts.figure import Figure
from advisor.charts.latency import LEGEND
from advisor.charts.palette import GREY, SeriesStyle, series_style
from advisor.charts.text import plain
from advisor.wording.formatting import percent_change
from tuning.statistics.change_points import MIN_POINTS, Level


@dataclass(frozen=True)
class DrawnPoint:
    """`low` and `high` are bounds of `value`, None without. `texts` are the lines that are shown
    when it is pointed at, `url` is opened by a click.
    """

    at: datetime
    value: float
    texts: Sequence[str]
    url: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class DrawnSeries:
    """Points that may be compared, oldest first, and their levels, in the unit of the points."""

    name: str
    points: Sequence[DrawnPoint]
    levels: Sequence[Level] = ()


@dataclass(frozen=True)
class Mark:
    """A day on which something else began; the text below the chart has its `label`."""

    at: datetime
    label: str


def levels_figure(
    series: Sequence[DrawnSeries], y_title: str, x_title: str, marks: Sequence[Mark] = ()
) -> Figure:
    """Dates on x. The y axis does not begin at zero: a few percent are the question."""
    figure = Figure()
    for index, one in enumerate(series):
        style = series_style(index)
        _add_points(figure, one, style)
        _add_levels(figure, one, style)
    for mark in marks:
        figure.add_shape(
            type="line",
            x0=mark.at,
            x1=mark.at,
            y0=0,
            y1=1,
            yref="paper",
            line={"color": GREY, "dash": "dot", "width": 1.5},
        )
        figure.add_annotation(
            x=mark.at,
            y=0,
            yref="paper",
            text=f"<b>{plain(mark.label)}</b>",
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            xshift=3,
        )
    figure.update_xaxes(title_text=x_title, zeroline=False)
    figure.update_yaxes(title_text=y_title, zeroline=False)
    figure.update_layout(
        showlegend=len(series) > 1,
        legend=LEGEND,
        margin={"l": 8, "r": 8, "t": 48 if len(series) > 1 else 16, "b": 8},
        height=340,
    )
    return figure


def _add_points(figure: Figure, one: DrawnSeries, style: SeriesStyle) -> None:
    has_bounds = any(point.low is not None for point in one.points)
    bars = {
        "type": "data",
        "symmetric": False,
        "array": [_above(point) for point in one.points],
        "arrayminus": [_below(point) for point in one.points],
        "color": style.colour,
        "thickness": 1,
        "width": 3,
    }
    figure.add_scatter(
        x=[point.at for point in one.points],
        y=[_rounded(point.value) for point in one.points],
        error_y=bars if has_bounds else None,
        name=plain(one.name),
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 8},
        customdata=[["<br>".join(map(plain, point.texts)), point.url] for point in one.points],
        hovertemplate="%{x|%Y-%m-%d}<br>%{customdata[0]}<extra></extra>",
    )


def _add_levels(figure: Figure, one: DrawnSeries, style: SeriesStyle) -> None:
    """A line for each level, and at the first point of each but the first its change.

    A few points have none: no change could have been seen among them.
    """
    if len(one.points) < MIN_POINTS:
        return
    for number, level in enumerate(one.levels, start=1):
        there = one.points[level.begin : level.end]
        text = f"mean of {level.points}: {level.mean:,.4g}"
        figure.add_scatter(
            x=[there[0].at, there[-1].at],
            y=[_rounded(level.mean)] * 2,
            name=plain(f"{one.name}, level {number}"),
            mode="lines",
            line={"color": style.colour, "dash": style.dash, "width": 3},
            showlegend=False,
            customdata=[[text, ""]] * 2,
            hovertemplate=f"{plain(one.name)}<br>%{{customdata[0]}}<extra></extra>",
        )
        if number > 1:
            figure.add_annotation(
                x=there[0].at,
                y=_rounded(max(point.high or point.value for point in there[:2])),
                text=f"<b>{percent_change(level.ratio)}</b>",
                showarrow=False,
                yshift=12,
            )


def _above(point: DrawnPoint) -> float:
    return 0.0 if point.high is None else _rounded(point.high - point.value)


def _below(point: DrawnPoint) -> float:
    return 0.0 if point.low is None else _rounded(point.value - point.low)


def _rounded(value: float) -> float:
    """Five significant digits."""
    return float(f"{value:.5g}")
