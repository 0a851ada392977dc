"""Devices over a setting, such as connections: the whitepaper's Figures 10 to 19.

Published figures are a separate layer: grey, dashed and named "published".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from advisor.charts.figure import Figure, lay_out
from advisor.charts.seconds import y_axis
from advisor.charts.style import GREY, SeriesStyle, plain
from tuning.statistics.ratios import Spread

_PUBLISHED_STYLES = (
    ("dot", "triangle-up-open"),
    ("dashdot", "square-open"),
    ("dash", "diamond-open"),
    ("longdash", "x-thin-open"),
)
# Tick labels closer than this factor would overlap.
_MIN_ABLATION = 1.18


@dataclass(frozen=True)
class DeviceLine:
    """Chart the figures of one device by setting."""

    name: str
    style: SeriesStyle
    is_emulated: bool
    points: Mapping[int, Spread]


@dataclass(frozen=True)
class BySetting:
    """A chart. axis: the title of y. scale: from figures to axis.

    published: by name a line of published figures.
    """

    axis: str
    unit: str
    lines: Sequence[DeviceLine]
    published: Mapping[str, Mapping[int, float | None]]
    scale: float = 1.0


def by_setting_figure(series: BySetting) -> Figure | None:
    """Draw medians as lines with the range of the runs.

    None where no line has two points and no published figures stand beside them.
    """
    most = max((len(line.points) for line in series.lines), default=0)
    if most < (1 if series.published else 2):
        return None
    figure = Figure()
    for (name, values), (dash, symbol) in zip(series.published.items(), cycle(_PUBLISHED_STYLES)):
        there = [(number, value) for number, value in values.items() if value is not None]
        title = f"published, whitepaper 2016{name}"
        figure.add_scatter(
            x=[number for number, _ in there],
            y=[value * series.scale for _, value in there],
            name=title,
            mode="lines+markers",
            legendrank=2000,
            line={"color": GREY, "width": 1.5, "dash": dash},
            marker={"color": GREY, "size": 7, "symbol": symbol},
            hovertemplate=f"{title}<br>connections: %{{x}}<br>%{{y:,.4~g}} {series.unit}"
            "<br>not measured here<extra></extra>",
        )
    for line in series.lines:
        _add_device(figure, series, line)
    lines = [line.points for line in series.lines], series.published.values()
    ticks = _spaced({number for there in lines for points in there for number in points})
    texts = [f"{number:,}" for number in ticks]
    figure.update_axes("x", type="log", tickvals=ticks, ticktext=texts)
    y_axis(figure, series.axis, [value for trace in figure.data for value in trace["y"]])
    return lay_out(figure, 340 + 30 * len(series.published), x="connections")


def _add_device(figure: Figure, series: BySetting, line: DeviceLine) -> None:
    points = sorted(line.points.items())
    figure.add_scatter(
        x=[number for number, _ in points],
        y=[found.median * series.scale for _, found in points],
        name=plain(line.name),
        mode="lines+markers",
        line={**line.style.line, "width": 2},
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
            f"{plain(line.name)}<br>connections: %{{x}}<br>%{{customdata}}<extra></extra>"
        ),
    )


def _hover_text(found: Spread, series: BySetting) -> str:
    scaled = [value * series.scale for value in (found.median, found.low, found.high)]
    median, low, high = (f"{v:,.0f}" if v >= 1000 else f"{v:.4g}" for v in scaled)
    if found.runs == 1:
        return f"{median} {series.unit}, one run"
    return f"{median} {series.unit}, {found.runs} runs, {low} to {high}"


def _spaced(numbers: Iterable[int]) -> list[int]:
    """Return the numbers whose labels do not overlap on a logarithmic axis."""
    shown: list[int] = []
    for number in sorted(numbers):
        if not shown or number / shown[-1] >= _MIN_ABLATION:
            shown.append(number)
    return shown
