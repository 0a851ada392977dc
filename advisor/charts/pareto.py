"""The three rankings in one picture: tpmP against p95, the server's path length as colour."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.charts.figure import Figure
from advisor.charts.palette import GREY, ORANGE
from advisor.charts.text import plain
from advisor.wording.formatting import kept_apart
from tuning.results.boards import Board

# The size of a name, as shares of the range of the points; more on paper than on the screen.
NAME_WIDTH, NAME_HEIGHT = 0.6, 0.1
# Of more candidates only the baseline, the best and others on the front have a name.
MAX_NAMED = 8
# A longer one is cut: it would reach beyond the chart.
MAX_NAME = 22
HALF = 0.5
# Short paths blue, long ones orange: readable on light and dark backgrounds.
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
    """`limit_ms` is the p95 limit of the filter."""

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


def pareto_figure(series: ParetoSeries) -> Figure:
    """p95 on x, tpmP on y: up and to the left is better; points on the front have a ring."""
    figure = Figure()
    points = series.points
    has_path_lengths = all(point.megacycles is not None for point in points)
    marker: dict[str, object] = {
        "size": [15 if point.is_front else 10 for point in points],
        "symbol": ["square" if point.is_baseline else "circle" for point in points],
        "line": {"width": [3 if point.is_front else 0 for point in points], "color": "#3f9c6b"},
    }
    if has_path_lengths:
        marker |= {
            "color": [point.megacycles for point in points],
            "colorscale": SCALE,
            "showscale": len(points) > 1,
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
    sides = _sides(points)
    labels = [plain(one) for one in kept_apart([p.candidate for p in points], MAX_NAME)]
    names = [
        f"<b>{label}</b>" if point.is_front else label
        for label, point in zip(labels, points, strict=True)
    ]
    figure.add_scatter(
        x=[point.p95_ms for point in points],
        y=[point.tpmP for point in points],
        mode="markers+text",
        text=[name if side else "" for name, side in zip(names, sides, strict=True)],
        textposition=[side or "middle right" for side in sides],
        textfont={"size": 11},
        cliponaxis=False,
        marker=marker,
        ids=[plain(point.candidate) for point in points],
        customdata=[[_hover_text(point)] for point in points],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )
    if series.limit_ms is not None:
        figure.add_vline(x=series.limit_ms, line={"color": ORANGE, "dash": "dash", "width": 1.5})
    figure.update_xaxes(
        title_text="p95 response time of New-Order, ms (lower is better)",
        zeroline=False,
    )
    figure.update_yaxes(title_text="tpmP, New-Orders per minute", zeroline=False)
    if len(points) == 1:  # by itself its axes would be as fine as the figures are exact
        [only] = points
        figure.update_xaxes(range=[0, max(2 * only.p95_ms, 1.1 * (series.limit_ms or 0))])
        figure.update_yaxes(range=[0, 2 * only.tpmP])
    figure.update_layout(
        showlegend=False,
        margin={"l": 8, "r": 16, "t": 56, "b": 8},
        height=400,
    )
    return figure


def _sides(points: list[ParetoPoint]) -> list[str]:
    """The position of each name: towards the middle of the chart, so that none is cut off, and
    beside, above or below its point, wherever there is room, over as few other points as can be;
    "" if there is none.

    The best and the baseline come first, then the front. The hover text has the names of all.
    """
    low, high = min(p.p95_ms for p in points), max(p.p95_ms for p in points)
    least = min(p.tpmP for p in points)
    wide, tall = high - low or 1.0, max(p.tpmP for p in points) - least or 1.0
    taken: list[tuple[float, float]] = []
    sides = [""] * len(points)
    best = max(points, key=lambda point: point.tpmP)

    def turn(at: int) -> tuple[bool, bool, float]:
        p = points[at]
        return not (p is best or p.is_baseline), not p.is_front, -p.tpmP

    def is_free(x: float, y: float) -> bool:
        return all(abs(x - a) > NAME_WIDTH or abs(y - b) > NAME_HEIGHT for a, b in taken)

    def covers(x: float, y: float, other: ParetoPoint) -> bool:
        a, b = (other.p95_ms - low) / wide, (other.tpmP - least) / tall
        return abs(x - a) < NAME_WIDTH / 2 and abs(y - b) < NAME_HEIGHT / 2

    first = sorted(range(len(points)), key=turn)
    if len(points) > MAX_NAMED:
        first = [at for at in first if not all(turn(at)[:2])][:MAX_NAMED]
    for at in first:
        p = points[at]
        is_left = (p.p95_ms - low) / wide <= HALF
        x = (p.p95_ms - low) / wide + (NAME_WIDTH / 2) * (1 if is_left else -1)
        free = []
        for place, lift in (("middle", 0.0), ("top", NAME_HEIGHT), ("bottom", -NAME_HEIGHT)):
            y = (p.tpmP - least) / tall + lift
            if is_free(x, y):
                covered = sum(covers(x, y, other) for other in points if other is not p)
                free.append((covered, place, y))
        if free:
            _, place, y = min(free, key=lambda one: one[0])
            taken.append((x, y))
            sides[at] = f"{place} {'right' if is_left else 'left'}"
    return sides


def _hover_text(point: ParetoPoint) -> str:
    path = "" if point.megacycles is None else f", {point.megacycles:.1f} Mcycles per New-Order"
    marks = [
        word
        for word, holds in (("baseline", point.is_baseline), ("Pareto front", point.is_front))
        if holds
    ]
    tail = f" ({', '.join(marks)})" if marks else ""
    name = plain(point.candidate)
    return f"{name}{tail}<br>{point.tpmP:,.0f} tpmP, p95 {point.p95_ms:.1f} ms{path}"
