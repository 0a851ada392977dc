"""Charts as Plotly's own classes take them, and pages as text."""

from __future__ import annotations

import re
from typing import Any

import plotly.graph_objects as go

from advisor.charts.figure import Figure


def drawn(figure: Figure) -> go.Figure:
    """Raises ValueError for a property or a value that Plotly does not know."""
    return go.Figure(figure.to_dict())


def flat(answer: Any) -> str:
    """Return the text of an answer on one line: how its markup is wrapped says nothing."""
    return re.sub(r"[ \n]+", " ", answer.content.decode())
