"""Figures of each second of a run, as lines or stacked areas; the warm-up is a grey band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from advisor.charts.axes import kept_places
from advisor.charts.figure import Figure, lay_out
from advisor.charts.style import faded, plain, rounded

#: For slow and fast devices in one chart: above this factor an axis is logarithmic.
MAX_LINEAR = 20.0


@dataclass(frozen=True)
class Line:
    """One line. second: before 0 is warm-up. values: None where nothing was counted."""

    name: str
    colour: str
    dash: str
    second: Sequence[int]
    values: Sequence[float | None]
    url: str = ""


def seconds_figure(
    lines: Sequence[Line],
    unit: str,
    title: str,
    *,
    stacked: bool = False,
    may_be_log: bool = False,
) -> Figure:
    """Draw lines over the seconds since the measurement began.

    Long runs are thinned; stacked areas share their places. `may_be_log`: the axis is logarithmic
    where the medians of the lines lie far apart.
    """
    figure = Figure()
    together = kept_places(_sums(lines)) if stacked else []
    for line in lines:
        kept = together or kept_places(line.values)
        area = {"stackgroup": "all", "fillcolor": faded(line.colour, 0.45)} if stacked else {}
        figure.add_scatter(
            x=[line.second[at] for at in kept],
            y=[rounded(line.values[at]) for at in kept],
            name=plain(line.name),
            mode="lines",
            line={"color": line.colour, "width": 1.5, "dash": line.dash},
            customdata=[["", line.url]] * len(kept) if line.url else None,
            hovertemplate=f"%{{y:,.4~g}} {unit}<extra>{plain(line.name)}</extra>",
            **area,
        )
    first = min((second for line in lines for second in line.second), default=0)
    if first < 0:
        figure.add_band(first, 0)
        place = {"x": first, "xanchor": "left", "y": 1, "yref": "y domain", "yanchor": "top"}
        figure.add_annotation("warm-up", font={"size": 11}, **place)
    # A second may have no transactions, so the medians decide.
    y_axis(figure, title, _medians(lines) if may_be_log else [])
    figure.update(hovermode="closest" if any(line.url for line in lines) else "x unified")
    x = "seconds since the start of the measurement"
    return lay_out(figure, 300, x=x, legend=len(lines) > 1)


def y_axis(figure: Figure, title: str, typical: Sequence[float]) -> None:
    """Begin the axis at zero; make it logarithmic where typical values lie far apart."""
    shown = [value for value in typical if value > 0]
    if shown and max(shown) / min(shown) > MAX_LINEAR:
        title = f"{title}<br>(logarithmic)"
        figure.update_axes("y", title={"text": title}, type="log", dtick=1, tickformat=",~g")
    else:
        figure.update_axes("y", title={"text": title}, rangemode="tozero")


def _medians(lines: Sequence[Line]) -> list[float]:
    known = ([value for value in line.values if value is not None] for line in lines)
    return [median_low(values) for values in known if values]


def _sums(lines: Sequence[Line]) -> list[float | None]:
    return [
        sum(known) if (known := [value for value in values if value is not None]) else None
        for values in zip(*(line.values for line in lines), strict=True)
    ]
