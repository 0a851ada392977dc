"""Figures as the JSON that charts.js fetches."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.http import HttpResponse

from advisor.charts.figure import Figure


def charts_json(figures: Mapping[str, Figure]) -> bytes:
    """`{"charts": {key: {data, layout}}}`, plain lists and numbers only.

    Axes get margins for their labels.
    """
    charts = []
    for key, figure in figures.items():
        figure.update_xaxes(automargin=True)
        figure.update_yaxes(automargin=True)
        charts.append(f"{json.dumps(key)}:{figure.to_json()}")
    return f'{{"charts":{{{",".join(charts)}}}}}'.encode()


def charts_answer(figures: Mapping[str, Figure]) -> HttpResponse:
    """The same as an answer."""
    return HttpResponse(charts_json(figures), content_type="application/json")
