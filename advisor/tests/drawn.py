"""Pages as text, and charts as Plotly takes them."""

from __future__ import annotations

import html
import re
from typing import Any

from django.test import Client
from plotly.graph_objects import Figure as PlotlyFigure

from advisor.charts.figure import Figure
from tuning.models import Study


def words(markup: str) -> str:
    """Return what a reader sees of markup, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def study_page(client: Client, study: Study) -> str:
    """Return the page of a study on one line."""
    return flat(client.get(f"/studies/{study.pk}/"))


def study_charts(client: Client, study: Study) -> dict[str, Any]:
    """Return the charts of a study's page, by their keys; Plotly's classes check each."""
    found: dict[str, Any] = client.get(f"/studies/{study.pk}/charts.json").json()["charts"]
    for chart in found.values():
        PlotlyFigure(chart)
    return found


def as_plotly(figure: Figure | None) -> Any:
    """Return the chart as Plotly's class, which refuses a property that it does not know."""
    assert figure is not None
    return PlotlyFigure(figure.as_json())


def flat(answer: Any) -> str:
    """Return the text of an answer on one line: how its markup is wrapped says nothing."""
    return re.sub(r"[ \n]+", " ", answer.content.decode())
