"""Charts with a row for each of several things: their names, whiskers, and the range of x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.charts.figure import Figure
from advisor.charts.palette import GREY

# Wide intervals are cut at this multiple of the largest effect.
MAX_SPAN = 3.0
MIN_SPAN_PCT = 8.0


def name_rows(figure: Figure, names: Sequence[str]) -> None:
    """From top to bottom; the names are ready to be drawn."""
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=list(names),
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )


def whiskers(
    intervals: Sequence[tuple[float | None, float, float | None]], colour: str = GREY
) -> dict[str, Any]:
    """For `error_x`, of (low, value, high); without a bound there is none.

    Where none has bounds nothing is drawn: a whisker of no length looks like a mark.
    """
    if all(low is None or high is None for low, _, high in intervals):
        return {"visible": False}
    return {
        "type": "data",
        "symmetric": False,
        "array": [_length(value, high) for _, value, high in intervals],
        "arrayminus": [_length(low, value) for low, value, _ in intervals],
        "color": colour,
        "thickness": 1.6,
        "width": 6,
    }


def percent_of(ratio: float) -> float:
    return (ratio - 1) * 100


def _length(start: float | None, end: float | None) -> float:
    """The length of a whisker; 0 if a bound is unknown."""
    return 0.0 if start is None or end is None else min(max(end - start, 0.0), 1e6)


def drawn_range(changes: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """The range of x in percent: all changes, zero, and whiskers up to a limit."""
    most = max([abs(change) for change in changes] + [MIN_SPAN_PCT]) * MAX_SPAN
    low = max(min([*changes, *ends, 0.0]), -most, -100.0)
    high = min(max([*changes, *ends, 0.0]), most)
    room = 0.06 * (high - low) + 0.5
    return low - room, high + room
