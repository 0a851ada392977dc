"""A chart as plotly.js takes it, in plain dictionaries, and charts as JSON that charts.js fetches.

Plotly's own Python classes check every property of every trace, which takes longer than computing
the chart. Tests use them instead: each figure that a test draws is checked by these classes
(`advisor/tests/conftest.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from django.http import HttpResponse

# Pixels between a title and the labels of its axis; else Plotly takes every title for one line.
_STANDOFF = 10
# The only properties used here whose own name has an underscore.
_WHOLE = frozenset(("error_x", "error_y"))


class Figure:
    """Traces and a layout. Methods are named, and work, as those of Plotly's own class.

    An underscore in a name leads into a property: `title_text` is the text of the title. What is
    None is left out.
    """

    def __init__(self) -> None:
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = {}

    def add_scatter(self, **trace: Any) -> None:
        self._add("scatter", trace)

    def add_bar(self, **trace: Any) -> None:
        self._add("bar", trace)

    def add_shape(self, **shape: Any) -> None:
        self.layout.setdefault("shapes", []).append(_nested(shape))

    def add_annotation(self, **annotation: Any) -> None:
        self.layout.setdefault("annotations", []).append(_nested(annotation))

    def add_vline(self, x: Any, **shape: Any) -> None:
        """A line across the whole height."""
        self.add_vrect(x, x, type="line", **shape)

    def add_vrect(self, x0: Any, x1: Any, **shape: Any) -> None:
        """An area across the whole height."""
        self.add_shape(**{"type": "rect"} | _UPRIGHT | {"x0": x0, "x1": x1} | shape)

    def add_hline(self, y: Any, **shape: Any) -> None:
        """A line across the whole width."""
        self.add_shape(**{"type": "line"} | _LEVEL | {"y0": y, "y1": y} | shape)

    def update_layout(self, **layout: Any) -> None:
        _merge(self.layout, _nested(layout))

    def update_xaxes(self, **axis: Any) -> None:
        """All x axes that there are; the first is always there."""
        self._update_axes("xaxis", axis)

    def update_yaxes(self, **axis: Any) -> None:
        """All y axes that there are; the first is always there."""
        self._update_axes("yaxis", axis)

    def to_dict(self) -> dict[str, Any]:
        """As plotly.js takes it; shared with the figure."""
        return {"data": self.data, "layout": self.layout}

    def to_json(self) -> str:
        """Times in ISO format; a number that is none or infinite is null."""
        found = self.to_dict()
        try:
            return _json(found)
        except ValueError:  # JSON has no word for such a number
            return _json(_known(found))

    def _add(self, kind: str, trace: Mapping[str, Any]) -> None:
        self.data.append({"type": kind} | _nested(trace))

    def _update_axes(self, kind: str, axis: Mapping[str, Any]) -> None:
        self.layout.setdefault(kind, {})
        for name in [one for one in self.layout if one.startswith(kind)]:
            _merge(self.layout[name], _nested(axis))


def charts_json(figures: Mapping[str, Figure]) -> bytes:
    """Return `{"charts": {key: {data, layout}}}`, plain lists and numbers only.

    Axes get margins for their labels. Upright titles, which may have two lines, get room.
    """
    charts = []
    for key, figure in figures.items():
        figure.update_xaxes(automargin=True)
        figure.update_yaxes(automargin=True)
        for name, axis in figure.layout.items():
            if name.startswith("yaxis") and axis.get("title", {}).get("text"):
                axis["title"].setdefault("standoff", _STANDOFF)
        charts.append(f"{json.dumps(key)}:{figure.to_json()}")
    return f'{{"charts":{{{",".join(charts)}}}}}'.encode()


def charts_answer(figures: Mapping[str, Figure]) -> HttpResponse:
    """Return the charts as the answer to charts.js."""
    return HttpResponse(charts_json(figures), content_type="application/json")


_UPRIGHT: dict[str, Any] = {"xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
_LEVEL: dict[str, Any] = {"yref": "y", "x0": 0, "x1": 1, "xref": "x domain"}


def _nested(properties: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in properties.items():
        if value is None:
            continue
        first, _, rest = ("", "", "") if name in _WHOLE else name.partition("_")
        if rest:
            _merge(found, {first: _nested({rest: value})})
        else:
            _merge(found, {name: _nested(value) if isinstance(value, Mapping) else value})
    return found


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        there = into.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            _merge(there, value)
        else:
            into[name] = value


def _json(found: dict[str, Any]) -> str:
    return json.dumps(found, default=_written, allow_nan=False, separators=(",", ":"))


def _written(value: Any) -> Any:
    """A time, or a figure of NumPy."""
    return value.isoformat() if hasattr(value, "isoformat") else value.tolist()


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _known(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    return value if not isinstance(value, float) or isfinite(value) else None
