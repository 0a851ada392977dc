"""Colours, styles of series and texts that all charts share.

The colours suit light and dark backgrounds; charts.js sets text and grid from the page's CSS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from textwrap import wrap
from typing import Any
from zlib import crc32

BLUE = "#3b82c4"
ORANGE = "#d9822b"
GREEN = "#3f9c6b"
RED = "#cf4a4a"
PURPLE = "#8d6cc4"
GREY = "#8a94a0"
BAND = "rgba(138, 148, 160, 0.18)"


@dataclass(frozen=True)
class SeriesStyle:
    """How a series is drawn: several are never told apart by colour alone."""

    colour: str
    dash: str
    symbol: str

    @property
    def line(self) -> dict[str, Any]:
        return {"color": self.colour, "dash": self.dash}

    @property
    def marker(self) -> dict[str, Any]:
        return {"color": self.colour, "symbol": self.symbol}


# Colours of Okabe and Ito that are visible on both backgrounds; each has a dash and a symbol. Grey
# is left to published figures.
SERIES: tuple[SeriesStyle, ...] = (
    SeriesStyle("#2f86c9", "solid", "circle"),
    SeriesStyle("#d55e00", "dash", "square"),
    SeriesStyle("#009e73", "dot", "diamond"),
    SeriesStyle("#b5679a", "dashdot", "triangle-up"),
    SeriesStyle("#6b8e23", "longdash", "x"),
    SeriesStyle("#b8860b", "longdashdot", "triangle-down"),
    SeriesStyle("#4a8f9f", "5px 2px 1px 2px", "star"),
    SeriesStyle("#7a6fc0", "2px 4px", "hexagon"),
)
# Dashes of later turns: seven, so that a colour comes with another one each time.
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "2px 4px")


def series_style(index: int) -> SeriesStyle:
    """Return the style of a series by its index, from 0; no two of the first 48 are the same."""
    turn, place = divmod(index, len(SERIES))
    style = SERIES[place]
    if not turn:
        return style
    return SeriesStyle(style.colour, _DASHES[(place + turn) % len(_DASHES)], style.symbol)


def styles_of(names: Sequence[str]) -> list[SeriesStyle]:
    """Return a style for each name: on all pages the same one, unless another of them has it."""
    taken: list[int] = []
    for name in names:
        first = crc32(name.encode()) % len(SERIES)
        free = (index for turn in count() for index in _turn(first, turn) if index not in taken)
        taken.append(next(free))
    return [series_style(index) for index in taken]


def _turn(first: int, turn: int) -> list[int]:
    """Return the places of all colours from the first on, in one turn of dashes."""
    return [turn * len(SERIES) + (first + step) % len(SERIES) for step in range(len(SERIES))]


def faded(colour: str, opacity: float) -> str:
    """Return `#rrggbb` with an opacity, as Plotly takes it."""
    red, green, blue = (int(colour[index : index + 2], 16) for index in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


def plain(text: str) -> str:
    """Escape a name for Plotly, which interprets tags, entities and `%{variable}`."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def wrapped(text: str, width: int) -> str:
    """Escape and wrap a text: hover boxes and ticks do not wrap by themselves."""
    return "<br>".join(plain(line) for line in wrap(text, width))


def rounded(value: float | None) -> float | None:
    """Round to five significant digits: more than a screen can show, in half the bytes."""
    return None if value is None else float(f"{value:.5g}")
