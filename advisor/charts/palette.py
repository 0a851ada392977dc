"""Colours for light and dark backgrounds; charts.js sets text and grid from the page's CSS."""

from __future__ import annotations

BLUE = "#3b82c4"
ORANGE = "#d9822b"
GREEN = "#3f9c6b"
RED = "#cf4a4a"
PURPLE = "#8d6cc4"
GREY = "#8a94a0"
BAND = "rgba(138, 148, 160, 0.18)"


def faded(colour: str, opacity: float) -> str:
    """`#rrggbb` with an opacity, as plotly takes it."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"
