"""Charts as Plotly's own classes take them."""

from __future__ import annotations

import plotly.graph_objects as go

from advisor.charts.figure import Figure


def drawn(figure: Figure) -> go.Figure:
    """Raises ValueError for a property or a value that Plotly does not know."""
    return go.Figure(figure.to_dict())
