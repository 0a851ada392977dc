"""Figures as the JSON that charts.js fetches."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.http import HttpResponse

from advisor.charts.figure import Figure

# Pixels between a title and the labels of its axis; else Plotly takes every title for one line.
_STANDOFF = 10


def charts_json(figures: Mapping[str, Figure]) -> bytes:
    """`{"charts": {key: {data, layout}}}`, plain lists and numbers only.

    Axes get margins for their labels, and upright titles, which may have two lines, room beside
    them.
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
    """The same as an answer."""
    return HttpResponse(charts_json(figures), content_type="application/json")
