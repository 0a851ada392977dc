"""Ticks of a logarithmic axis: plotly's own labels between powers of ten omit zeros."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, log10
from typing import Any

_FEW_DECADES = 3
_NARROW = 5


def log_ticks(values: Iterable[float]) -> dict[str, Any]:
    """Properties of an axis with these values: several ticks per decade, fewer for a wide range.

    Values that are not positive have no place on it; without any other the result is empty.
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
