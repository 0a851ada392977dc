"""Figures as the JSON that charts.js fetches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go


def charts_payload(figures: Mapping[str, go.Figure]) -> dict[str, Any]:
    """`{"charts": {key: {data, layout}}}`, plain lists and numbers only.

    plotly's default template (7 kB of colours that we override) is dropped. Axes get margins for
    their labels.
    """
    charts = {}
    for key, figure in figures.items():
        figure.update_layout(template="none")
        figure.update_xaxes(automargin=True)
        figure.update_yaxes(automargin=True)
        charts[key] = json.loads(figure.to_json())
    return {"charts": charts}
