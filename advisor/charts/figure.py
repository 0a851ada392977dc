"""Charts by Plotly's classes, and charts as JSON that charts.js fetches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from django.http import HttpResponse
from django.urls import reverse

#: `plotly.graph_objects.Figure`, which has no types.
Figure: TypeAlias = Any
# Pixels between a title and the labels of its axis; else Plotly takes every title for one line.
_STANDOFF = 10
#: The hover box of points that bring their own text.
HOVER = "%{customdata[0]}<extra></extra>"


def new_figure() -> Figure:
    """Return an empty figure, whose colours charts.js takes from the page."""
    # Its import takes half a second, which no command without charts should pay.
    from plotly.graph_objects import Figure as PlotlyFigure

    return PlotlyFigure(layout={"template": {}})


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
    figure.update_layout(
        showlegend=legend,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0},
        margin={"l": 8, "r": 12, "t": 48 if legend else 20, "b": 8},
        height=height,
    )
    figure.update_xaxes(automargin=True, zeroline=False)
    figure.update_yaxes(automargin=True, zeroline=False, title_standoff=_STANDOFF)
    if x:
        figure.update_layout(xaxis_title_text=x)
    if y:
        figure.update_layout(yaxis_title_text=y)
    return figure


def charts_json(figures: Mapping[str, Figure]) -> bytes:
    """Return `{"charts": {key: {data, layout}}}`, plain lists and numbers only."""
    charts = (f"{json.dumps(key)}:{figure.to_json()}" for key, figure in figures.items())
    return f'{{"charts":{{{",".join(charts)}}}}}'.encode()


def charts_answer(figures: Mapping[str, Figure]) -> HttpResponse:
    """Return the charts as the answer to charts.js."""
    return HttpResponse(charts_json(figures), content_type="application/json")
