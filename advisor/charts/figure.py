"""Charts as the JSON that plotly.js draws; tests hold each chart to Plotly's own classes.

These classes check every property, which takes longer than all else that a page of charts does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpResponse
from django.urls import reverse

from advisor.charts.style import BAND

# Pixels between a title and the labels of its axis; else Plotly takes every title for one line.
_STANDOFF = 10
#: The hover box of points that bring their own text.
HOVER = "%{customdata[0]}<extra></extra>"


@dataclass
class Figure:
    """A chart: its traces and its layout, with the names of Plotly's reference.

    charts.js takes colours of text and grid from the page.
    """

    data: list[dict[str, Any]] = field(default_factory=list)
    layout: dict[str, Any] = field(default_factory=lambda: {"xaxis": {}, "yaxis": {}})

    def add_scatter(self, **trace: Any) -> None:
        """Add points, or lines."""
        self.data.append({"type": "scatter", **trace})

    def add_bar(self, **trace: Any) -> None:
        """Add bars."""
        self.data.append({"type": "bar", **trace})

    def add_shape(self, kind: str, **shape: Any) -> None:
        """Add a "line" or a "rect"."""
        self.layout.setdefault("shapes", []).append({"type": kind, **shape})

    def add_annotation(self, text: str, **annotation: Any) -> None:
        """Add a text without an arrow."""
        added = {"text": text, "showarrow": False, **annotation}
        self.layout.setdefault("annotations", []).append(added)

    def add_line_at(
        self, *, x: Any = None, y: Any = None, colour: str, dash: str = "dot", width: float = 1
    ) -> None:
        """Draw a vertical line at x or a horizontal one at y, across the whole chart."""
        line = {"color": colour, "dash": dash, "width": width}
        if y is None:
            self.add_shape("line", x0=x, x1=x, y0=0, y1=1, yref="y domain", line=line)
        else:
            self.add_shape("line", x0=0, x1=1, xref="x domain", y0=y, y1=y, line=line)

    def add_band(self, low: float, high: float) -> None:
        """Shade from one x to another behind the points."""
        look = {"fillcolor": BAND, "line": {"width": 0}, "layer": "below"}
        self.add_shape("rect", x0=low, x1=high, y0=0, y1=1, yref="y domain", **look)

    def update(self, **layout: Any) -> None:
        """Set parts of the layout; what they do not name stays."""
        _merge(self.layout, layout)

    def update_axes(self, letter: str, **axis: Any) -> None:
        """Set properties of each x axis or y axis that there is."""
        for name in [one for one in self.layout if one.startswith(f"{letter}axis")]:
            _merge(self.layout[name], axis)

    def as_json(self) -> dict[str, Any]:
        """Return `{data, layout}`, without what is None."""
        traces = [
            {key: part for key, part in one.items() if part is not None} for one in self.data
        ]
        return {"data": traces, "layout": self.layout}


def _merge(into: dict[str, Any], parts: Mapping[str, Any]) -> None:
    for name, part in parts.items():
        if isinstance(part, dict):
            _merge(into.setdefault(name, {}), part)
        else:
            into[name] = part


def run_url(pk: int) -> str:
    """Return the address of a run's page, which a click on its point opens."""
    return reverse("run-detail", args=[pk])


def add_points(
    figure: Figure,
    x: Sequence[Any],
    y: Sequence[Any],
    hover: Sequence[str | None],
    urls: Sequence[str] = (),
    **look: Any,
) -> None:
    """Draw markers, or as `look` says.

    hover: a text each, escaped already; None for a gap. urls: a page each, opened by a click.
    """
    pages = urls or [""] * len(hover)
    data = [text and [text, page] for text, page in zip(hover, pages, strict=True)]
    look = {"mode": "markers"} | look
    figure.add_scatter(x=x, y=y, customdata=data, hovertemplate=HOVER, **look)


def lay_out(
    figure: Figure, height: int, *, x: str = "", y: str = "", legend: bool = True
) -> Figure:
    """Set the titles of the axes, the margins, the height in pixels and the legend above."""
    figure.update(
        showlegend=legend,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0},
        margin={"l": 8, "r": 12, "t": 48 if legend else 20, "b": 8},
        height=height,
    )
    figure.update_axes("x", automargin=True, zeroline=False)
    figure.update_axes("y", automargin=True, zeroline=False, title={"standoff": _STANDOFF})
    if x:
        figure.update(xaxis={"title": {"text": x}})
    if y:
        figure.update(yaxis={"title": {"text": y}})
    return figure


def charts_json(figures: Mapping[str, Figure]) -> bytes:
    """Return `{"charts": {key: {data, layout}}}`, plain lists and numbers only."""
    charts = {key: figure.as_json() for key, figure in figures.items()}
    return json.dumps({"charts": charts}, cls=DjangoJSONEncoder, allow_nan=False).encode()


def charts_answer(figures: Mapping[str, Figure]) -> HttpResponse:
    """Return the charts as the answer to charts.js."""
    return HttpResponse(charts_json(figures), content_type="application/json")
