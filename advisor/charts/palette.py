"""Colours for light and dark backgrounds; charts.js sets text and grid from the page's CSS."""

from __future__ import annotations

from dataclasses import dataclass

BLUE = "#3b82c4"
ORANGE = "#d9822b"
GREEN = "#3f9c6b"
RED = "#cf4a4a"
PURPLE = "#8d6cc4"
GREY = "#8a94a0"
BAND = "rgba(138, 148, 160, 0.18)"


def faded(colour: str, opacity: float) -> str:
    """`#rrggbb` with an opacity, as plotly takes it."""
    red, green, blue = (int(colour[index : index + 2], 16) for index in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


@dataclass(frozen=True)
class SeriesStyle:
    """How one of several series is drawn: never told apart by its colour alone."""

    colour: str
    dash: str
    symbol: str


# The colours of Okabe and Ito that can be seen on both grounds; each has a dash and a symbol.
SERIES: tuple[SeriesStyle, ...] = (
    SeriesStyle("#2f86c9", "solid", "circle"),
    SeriesStyle("#d55e00", "dash", "square"),
    SeriesStyle("#009e73", "dot", "diamond"),
    SeriesStyle("#b5679a", "dashdot", "triangle-up"),
    SeriesStyle("#8a94a0", "longdash", "x"),
    SeriesStyle("#b8860b", "longdashdot", "triangle-down"),
    SeriesStyle("#4a8f9f", "5px 2px 1px 2px", "star"),
    SeriesStyle("#7a6fc0", "2px 4px", "hexagon"),
)


def series_style(index: int) -> SeriesStyle:
    """That of a series by its index, from 0; the styles begin again after the last."""
    return SERIES[index % len(SERIES)]
