"""Axes and points that several charts share: logarithmic ticks, rows, whiskers, long series."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

from advisor.charts.figure import Figure
from advisor.charts.style import GREY

#: Points per line: more than a screen has room for, few enough for a phone.
MAX_POINTS = 800
_FEW_DECADES = 3
_NARROW = 5
# Wide intervals are cut at this multiple of the largest effect.
_MAX_SPAN = 3.0
_MIN_SPAN_PCT = 8.0


def kept_places(values: Sequence[float | None], most: int = MAX_POINTS) -> list[int]:
    """Return the places of at most `most` values to draw instead of all, in order.

    The series is divided into equal parts. The smallest and the largest value of each part stay,
    so that a stall or a peak of one second is drawn in full. A part without values keeps its first
    place, so that a gap stays a gap. The first and the last place stay.
    """
    if len(values) <= most:
        return list(range(len(values)))
    parts = max((most - 2) // 2, 1)
    kept = {0, len(values) - 1}
    for part in range(parts):
        start, end = len(values) * part // parts, len(values) * (part + 1) // parts
        known = [(value, at) for at in range(start, end) if (value := values[at]) is not None]
        if known:
            kept |= {min(known)[1], max(known)[1]}
        else:
            kept.add(start)
    return sorted(kept)


def log_ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return tick properties of a logarithmic axis; Plotly's own labels omit zeros.

    An axis has several ticks per decade, fewer for a wide range. Without positive values the
    result is empty.
    """
    shown = [value for value in values if value > 0]
    if not shown:
        return {}
    low, high = floor(log10(min(shown))), ceil(log10(max(shown)))
    steps: tuple[float, ...] = (1, 2, 5) if high - low <= _FEW_DECADES else (1,)
    if max(shown) < _NARROW * min(shown):
        steps = (1, 1.5, 2, 3, 5, 7)
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    return {
        "tickvals": ticks,
        "ticktext": [f"{tick:,.0f}" if tick.is_integer() else f"{tick:g}" for tick in ticks],
    }


def name_rows(figure: Figure, names: Sequence[str]) -> None:
    """Label the rows from top to bottom; the names are escaped already."""
    figure.update_axes(
        "y",
        tickvals=list(range(len(names))),
        ticktext=list(names),
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
    )


def whiskers(
    intervals: Sequence[tuple[float | None, float, float | None]], colour: str = GREY
) -> dict[str, Any]:
    """Return `error_x` for (low, value, high); an unknown bound has no whisker.

    Without any bounds nothing is drawn: a whisker of no length looks like a mark.
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


def _length(start: float | None, end: float | None) -> float:
    return 0.0 if start is None or end is None else min(max(end - start, 0.0), 1e6)


def percent_of(ratio: float) -> float:
    """Return the change in percent that a ratio stands for."""
    return (ratio - 1) * 100


def drawn_range(changes: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """Return the range of x in percent: all changes, zero, and whiskers up to a limit."""
    most = max([abs(change) for change in changes] + [_MIN_SPAN_PCT]) * _MAX_SPAN
    low = max(min([*changes, *ends, 0.0]), -most, -100.0)
    high = min(max([*changes, *ends, 0.0]), most)
    room = 0.06 * (high - low) + 0.5
    return low - room, high + room
