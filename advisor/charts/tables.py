"""The figures of charts as plain tables, for whom no chart is drawn: what charts.js makes too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

Cell = str | float | int


@dataclass(frozen=True)
class ChartTable:
    """`title` names what is on the axes. Figures have six significant digits."""

    key: str
    title: str
    columns: list[str]
    rows: list[list[Cell]]


def chart_tables(charts: Mapping[str, Mapping[str, Any]]) -> list[ChartTable]:
    """One for each of the `charts` of `charts_payload` that has points.

    Of what is chosen from a list in a chart it has what is shown first. The `ids` of points are
    the names of configs.
    """
    return [table for key, figure in charts.items() if (table := _table(key, figure)).rows]


def _table(key: str, figure: Mapping[str, Any]) -> ChartTable:
    layout = figure["layout"]
    traces = [one for one in figure["data"] if _is_drawn(one)]
    x_titles, y_titles = (_titles(layout, traces, letter) for letter in "xy")
    has_ends = any(_bars(one) for one in traces)
    has_series = len(traces) > 1
    has_names = any("ids" in one for one in traces)
    columns = [
        *(["Config"] if has_names else []),
        *(["Series"] if has_series else []),
        x_titles[0] if x_titles else "Name",
        "Value" if len(y_titles) > 1 else y_titles[0] if y_titles else "Name",
        *(["Interval from", "to"] if has_ends else []),
    ]
    rows: list[list[Cell]] = []
    for trace in traces:
        name = _plain(trace.get("name", ""))
        if len(y_titles) > 1:
            name = ", ".join(filter(None, [name, _title(_axis(layout, trace, "y"))]))
        for at, (x, y) in enumerate(zip(trace["x"], trace["y"], strict=False)):
            if x is None or y is None:
                continue
            rows.append(
                [
                    *([_plain(trace["ids"][at]) if "ids" in trace else ""] if has_names else []),
                    *([name] if has_series else []),
                    _label(_axis(layout, trace, "x"), x),
                    _label(_axis(layout, trace, "y"), y),
                    *(_ends(trace, at) if has_ends else []),
                ]
            )
    return ChartTable(key, " and ".join([*y_titles, *x_titles]) or key, columns, rows)


def _is_drawn(trace: Mapping[str, Any]) -> bool:
    is_shown = trace.get("visible", True) and trace.get("y")
    return bool(is_shown) and any(x is not None for x in trace.get("x") or ())


def _axis(layout: Mapping[str, Any], trace: Mapping[str, Any], letter: str) -> Mapping[str, Any]:
    number = trace.get(f"{letter}axis", letter)[1:]
    found: Mapping[str, Any] = layout.get(f"{letter}axis{number}", {})
    return found


def _title(axis: Mapping[str, Any]) -> str:
    return _plain((axis.get("title") or {}).get("text", ""))


def _titles(
    layout: Mapping[str, Any], traces: Sequence[Mapping[str, Any]], letter: str
) -> list[str]:
    found = (_title(_axis(layout, one, letter)) for one in traces)
    return list(dict.fromkeys(filter(None, found)))


def _bars(trace: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The axis of the intervals, and the intervals."""
    for letter in "xy":
        bars = trace.get(f"error_{letter}") or {}
        if bars.get("array"):
            return letter, bars
    return None


def _ends(trace: Mapping[str, Any], at: int) -> list[Cell]:
    found = _bars(trace)
    if found is None:
        return ["", ""]
    letter, bars = found
    up = bars["array"][at]
    down = (bars.get("arrayminus") or bars["array"])[at]
    if not (up or down):
        return ["", ""]
    value = trace[letter][at]
    return [_rounded(value - (down or 0)), _rounded(value + (up or 0))]


def _label(axis: Mapping[str, Any], value: Any) -> Cell:
    """The words at a place of an axis that has words; else the value itself.

    The texts of a logarithmic axis are numbers.
    """
    words = axis.get("ticktext")
    if words and axis.get("type") != "log" and isinstance(value, int | float):
        for position, text in zip(axis.get("tickvals") or (), words, strict=False):
            if abs(position - value) <= 0.45:
                return _plain(text)
    return _rounded(value)


def _rounded(value: Any) -> Cell:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _plain(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", str(markup))).split())
