"""The three rankings in one picture: tpmP against p95, the server's path length as colour."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from advisor.charts.palette import GREY, ORANGE
from tuning.services.results import Board

# Reads on light and dark ground: short paths blue, long ones orange.
# Shares of the picture within which two names would lie on each other.
NEAR_X, NEAR_Y = 0.3, 0.05
SCALE = [[0.0, "#3b82c4"], [0.5, "#8a94a0"], [1.0, "#d9822b"]]


@dataclass(frozen=True)
class ParetoPoint:
    """Medians: tpmP in New-Orders per minute, p95 in ms, path length in 10^6 cycles."""

    candidate: str
    tpmP: float
    p95_ms: float
    megacycles: float | None
    is_front: bool
    is_baseline: bool


@dataclass(frozen=True)
class ParetoSeries:
    """`limit_ms` is the p95 that was asked for at most."""

    points: list[ParetoPoint]
    limit_ms: float | None = None


def pareto_series(board: Board, limit_ms: float | None = None) -> ParetoSeries:
    """Every candidate with both medians."""
    points = [
        ParetoPoint(
            candidate=line.candidate,
            tpmP=line.tpmP,
            p95_ms=line.p95_ms,
            megacycles=None if line.server_path_length is None else line.server_path_length / 1e6,
            is_front=line.candidate in board.pareto,
            is_baseline=line.candidate == board.baseline.name,
        )
        for line in board.judgement.ranked
        if line.tpmP is not None and line.p95_ms is not None
    ]
    return ParetoSeries(points, limit_ms)


def pareto_figure(series: ParetoSeries) -> go.Figure:
    """p95 on x, tpmP on y: up and to the left is better; those of the front have a ring."""
    figure = go.Figure()
    points = series.points
    knows = all(point.megacycles is not None for point in points)
    marker: dict[str, object] = {
        "size": [15 if point.is_front else 10 for point in points],
        "symbol": ["square" if point.is_baseline else "circle" for point in points],
        "line": {"width": [3 if point.is_front else 0 for point in points], "color": "#3f9c6b"},
    }
    if knows:
        marker |= {
            "color": [point.megacycles for point in points],
            "colorscale": SCALE,
            "showscale": True,
            "colorbar": {
                "orientation": "h",
                "thickness": 8,
                "y": 1.0,
                "yanchor": "bottom",
                "title": {
                    "text": "server path length, Mcycles per New-Order",
                    "side": "top",
                    "font": {"size": 11},
                },
                "tickfont": {"size": 10},
            },
        }
    else:
        marker["color"] = GREY
    figure.add_scatter(
        x=[point.p95_ms for point in points],
        y=[point.tpmP for point in points],
        mode="markers+text",
        text=[
            f"<b>{point.candidate}</b>" if point.is_front else point.candidate for point in points
        ],
        textposition=_sides(points),
        textfont={"size": 11},
        cliponaxis=False,
        marker=marker,
        customdata=[[_told(point)] for point in points],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    if series.limit_ms is not None:
        figure.add_vline(x=series.limit_ms, line={"color": ORANGE, "dash": "dash", "width": 1.5})
    figure.update_xaxes(
        title_text="p95 response time of New-Order, ms (less is better)",
        zeroline=False,
        automargin=True,
    )
    figure.update_yaxes(title_text="tpmP, New-Orders per minute", zeroline=False, automargin=True)
    figure.update_layout(
        showlegend=False,
        margin={"l": 8, "r": 16, "t": 56, "b": 8},
        hovermode="closest",
        height=400,
    )
    return figure


def _sides(points: list[ParetoPoint]) -> list[str]:
    """Names point into the picture, so that none is cut off at an edge; of points that lie close
    together the upper one's name is lifted and the lower one's sunk.
    """
    low, high = min(p.p95_ms for p in points), max(p.p95_ms for p in points)
    tall = max(p.tpmP for p in points) - min(p.tpmP for p in points) or 1.0
    wide = high - low or 1.0
    sides = []
    for p in points:
        close = [
            other
            for other in points
            if other is not p
            and abs(other.tpmP - p.tpmP) < NEAR_Y * tall
            and abs(other.p95_ms - p.p95_ms) < NEAR_X * wide
        ]
        above = sum(_is_above(p, other) for other in close)
        place = "middle"
        if close:
            place = "top" if above == len(close) else "bottom" if above == 0 else "middle"
        sides.append(f"{place} {'right' if p.p95_ms <= (low + high) / 2 else 'left'}")
    return sides


def _is_above(p: ParetoPoint, other: ParetoPoint) -> bool:
    return (p.tpmP, p.candidate) > (other.tpmP, other.candidate)


def _told(point: ParetoPoint) -> str:
    path = "" if point.megacycles is None else f", {point.megacycles:.1f} Mcycles per New-Order"
    marks = [
        word
        for word, holds in (("baseline", point.is_baseline), ("on the front", point.is_front))
        if holds
    ]
    tail = f" ({', '.join(marks)})" if marks else ""
    return f"{point.candidate}{tail}<br>{point.tpmP:,.0f} tpmP, p95 {point.p95_ms:.1f} ms{path}"
