"""The whitepaper's Figures 10 and 12 to 19 for the user's own devices.

Published figures are a separate layer: grey, dashed and named "published", never mixed with the
lines of measured figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from math import isclose

from advisor.charts.figure import Figure
from advisor.charts.palette import GREY, SERIES, SeriesStyle
from advisor.charts.text import plain
from advisor.charts.thinning import kept_places
from tuning.statistics.ratios import Spread

# Grey is for published figures alone.
STYLES = tuple(one for one in SERIES if one.colour != GREY)
DASHES = ("dot", "dashdot", "dash", "longdash")
SYMBOLS = ("triangle-up-open", "square-open", "diamond-open", "x-thin-open")
PUBLISHED = "published, whitepaper 2016"
# For slow and fast devices in one chart: above this factor an axis is logarithmic.
MAX_LINEAR = 20.0
# Tick labels closer than this factor would overlap.
MIN_APART = 1.18


@dataclass(frozen=True)
class DeviceLine:
    """What was measured on one device, by number of connections or another setting."""

    name: str
    style: SeriesStyle
    is_emulated: bool
    points: Mapping[int, Spread]


@dataclass(frozen=True)
class BySetting:
    """`setting` is the quantity on x, `scale` the factor from figures to the axis; `published` is
    by device.
    """

    axis: str
    unit: str
    lines: Sequence[DeviceLine]
    published: Mapping[str, Mapping[int, float | None]]
    published_note: str = ""
    scale: float = 1.0
    setting: str = "connections"


@dataclass(frozen=True)
class SecondsLine:
    """One run, a figure per measured second (None where nothing was counted)."""

    name: str
    style: SeriesStyle
    values: Sequence[float | None]


@dataclass(frozen=True)
class OverSeconds:
    axis: str
    unit: str
    lines: Sequence[SecondsLine]


def device_style(index: int) -> SeriesStyle:
    """The same in every chart, by the device's index among those compared.

    From the eighth on a colour comes again, with another dash and symbol.
    """
    turn, place = divmod(index, len(STYLES))
    shape = STYLES[(place + turn) % len(STYLES)]
    return replace(STYLES[place], dash=shape.dash, symbol=shape.symbol)


def by_setting_figure(series: BySetting) -> Figure:
    """Medians as lines with the range of the runs; the published layer behind them."""
    figure = Figure()
    _add_published(figure, series)
    for line in series.lines:
        points = sorted(line.points.items())
        medians = [found.median * series.scale for _, found in points]
        figure.add_scatter(
            x=[connections for connections, _ in points],
            y=medians,
            name=plain(line.name),
            mode="lines+markers",
            line={"color": line.style.colour, "dash": line.style.dash, "width": 2},
            marker={"size": 8, "symbol": line.style.symbol + "-open" * line.is_emulated},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [(found.high - found.median) * series.scale for _, found in points],
                "arrayminus": [(found.median - found.low) * series.scale for _, found in points],
                "thickness": 1.4,
                "width": 5,
            },
            customdata=[_hover_text(found, series) for _, found in points],
            hovertemplate=(
                f"{plain(line.name)}<br>{series.setting}: %{{x}}<br>%{{customdata}}<extra></extra>"
            ),
        )
    numbers = {number for line in series.lines for number in line.points}
    if series.published:
        numbers |= {number for line in series.published.values() for number in line}
    figure.update_xaxes(
        title_text=series.setting,
        type="log",
        tickvals=_spaced(numbers),
        ticktext=[f"{number:,}" for number in _spaced(numbers)],
        zeroline=False,
    )
    drawn = [
        value for trace in figure.data for value in trace["y"] if value is not None and value > 0
    ]
    _style(figure, series.axis, drawn, len(series.published))
    return figure


def over_seconds_figure(series: OverSeconds) -> Figure:
    """One line per device: the run nearest to its median; long runs are thinned."""
    figure = Figure()
    for line in series.lines:
        kept = kept_places(line.values)
        figure.add_scatter(
            x=kept,
            y=[line.values[at] for at in kept],
            name=plain(line.name),
            mode="lines",
            line={"color": line.style.colour, "dash": line.style.dash, "width": 1.6},
            hovertemplate=f"%{{y:,.4~g}} {series.unit}<extra>{plain(line.name)}</extra>",
        )
    figure.update_xaxes(title_text="seconds since the start of the measurement", zeroline=False)
    # A second may have no transactions, so medians decide whether the axis is logarithmic.
    drawn = [there for line in series.lines if (there := _there(line.values))]
    typical = [sorted(there)[len(there) // 2] for there in drawn]
    _style(figure, series.axis, [value for value in typical if value > 0], 0)
    figure.update_layout(hovermode="x unified")
    return figure


def _add_published(figure: Figure, series: BySetting) -> None:
    for (device, points), dash, symbol in zip(
        series.published.items(), cycle(DASHES), cycle(SYMBOLS)
    ):
        there = [(number, value) for number, value in points.items() if value is not None]
        name = f"{PUBLISHED}{series.published_note}: {device}"
        figure.add_scatter(
            x=[number for number, _ in there],
            y=[value * series.scale for _, value in there],
            name=name,
            mode="lines+markers",
            legendrank=2000,
            line={"color": GREY, "width": 1.5, "dash": dash},
            marker={"color": GREY, "size": 7, "symbol": symbol},
            hovertemplate=(
                f"{name}<br>{series.setting}: %{{x}}<br>%{{y:,.4~g}} {series.unit}"
                "<br>not measured here<extra></extra>"
            ),
        )


def _style(figure: Figure, axis: str, drawn: Sequence[float], published: int) -> None:
    is_wide = bool(drawn) and max(drawn) / min(drawn) > MAX_LINEAR
    figure.update_yaxes(
        title_text=f"{axis}<br>(logarithmic)" if is_wide else axis,
        type="log" if is_wide else "linear",
        zeroline=False,
    )
    if is_wide:
        figure.update_yaxes(dtick=1, tickformat=",~g")
    else:
        figure.update_yaxes(rangemode="tozero")
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0},
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        height=340 + 30 * published,
    )


def _hover_text(found: Spread, series: BySetting) -> str:
    scaled = [value * series.scale for value in (found.median, found.low, found.high)]
    median, low, high = (f"{v:,.0f}" if v >= 1000 else f"{v:.4g}" for v in scaled)
    if found.runs == 1:
        return f"{median} {series.unit}, one run"
    return f"{median} {series.unit}, {found.runs} runs, {low} to {high}"


def _spaced(numbers: Iterable[int]) -> list[int]:
    """The numbers whose labels do not overlap on a logarithmic axis."""
    shown: list[int] = []
    for number in sorted(numbers):
        if not shown or number / shown[-1] >= MIN_APART or isclose(number, shown[-1]):
            shown.append(number)
    return shown


def _there(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
