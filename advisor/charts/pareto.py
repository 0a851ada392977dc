"""The three rankings in one picture: throughput against p95, path length as colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.charts.figure import Figure, add_points, lay_out
from advisor.charts.style import GREEN, GREY, ORANGE, plain
from advisor.wording.formatting import kept_apart
from tuning.results.document import Board, StudyDocument

# The size of a name, as shares of the range of the points; more than it takes on the screen.
_NAME_WIDTH, _NAME_HEIGHT = 0.6, 0.1
# Of more candidates only the baseline, the best and others on the front have a name.
MAX_NAMED = 8
# A longer name is cut: it would reach beyond the chart.
_MAX_NAME = 22
# Short paths are blue, long ones orange: both are visible on light and dark backgrounds.
_SCALE = [[0.0, "#3b82c4"], [0.5, "#8a94a0"], [1.0, "#d9822b"]]


@dataclass(frozen=True)
class Point:
    """A candidate's medians: throughput per minute, p95 in ms, path in 10^6 cycles."""

    name: str
    throughput: float
    p95_ms: float
    megacycles: float | None
    is_front: bool
    is_baseline: bool


def pareto_figure(document: StudyDocument, board: Board, p95_ms: float | None) -> Figure | None:
    """Draw all candidates with both medians; None for fewer than two: a dot says nothing."""
    points = []
    for row in board.rows:
        figures = row.figures
        if figures.throughput is None or figures.p95_ms is None:
            continue
        path = figures.server_path_length
        points.append(
            Point(
                name=document.candidate[row.candidate_id].name,
                throughput=figures.throughput,
                p95_ms=figures.p95_ms,
                megacycles=None if path is None else path / 1e6,
                is_front=row.candidate_id in board.pareto,
                is_baseline=row.candidate_id == board.baseline_id,
            )
        )
    if len(points) < 2:
        return None
    return drawn_points(points, document.unit_on(board), p95_ms)


def drawn_points(points: Sequence[Point], unit: str, limit_ms: float | None = None) -> Figure:
    """Draw p95 on x, throughput on y; the front has rings, the baseline is a square."""
    figure = Figure()
    sides = _sides(points)
    labels = [plain(one) for one in kept_apart([point.name for point in points], _MAX_NAME)]
    names = [
        f"<b>{label}</b>" if point.is_front else label
        for label, point in zip(labels, points, strict=True)
    ]
    add_points(
        figure,
        [point.p95_ms for point in points],
        [point.throughput for point in points],
        [_hover_text(point, unit) for point in points],
        mode="markers+text",
        text=[name if side else "" for name, side in zip(names, sides, strict=True)],
        textposition=[side or "middle right" for side in sides],
        textfont={"size": 11},
        cliponaxis=False,
        marker={
            "size": [15 if point.is_front else 10 for point in points],
            "symbol": ["square" if point.is_baseline else "circle" for point in points],
            "line": {"width": [3 if point.is_front else 0 for point in points], "color": GREEN},
            **_colours(points),
        },
        ids=[plain(point.name) for point in points],
    )
    if limit_ms is not None:
        figure.add_line_at(x=limit_ms, colour=ORANGE, dash="dash", width=1.5)
    x_title = "p95 response time of transactions, ms (lower is better)"
    lay_out(figure, 400, x=x_title, y=f"throughput, {unit}", legend=False)
    figure.update(margin={"t": 56})
    return figure


def _colours(points: Sequence[Point]) -> dict[str, object]:
    """Colour by path length, if every candidate has one."""
    if any(point.megacycles is None for point in points):
        return {"color": GREY}
    title = {"text": "server path length, Mcycles per transaction", "side": "top"}
    return {
        "color": [point.megacycles for point in points],
        "colorscale": _SCALE,
        "showscale": True,
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "y": 1.0,
            "yanchor": "bottom",
            "title": title | {"font": {"size": 11}},
            "tickfont": {"size": 10},
        },
    }


def _sides(points: Sequence[Point]) -> list[str]:
    """Return the position of each name, as Plotly says it; "" for a name without room.

    A name stands towards the middle of the chart, so that it is not cut off: beside, above or
    below its point, over as few other points as possible. The best and the baseline come first,
    then the front. The hover text has all names.
    """
    lefts, bottoms = [p.p95_ms for p in points], [p.throughput for p in points]
    wide, tall = max(lefts) - min(lefts) or 1.0, max(bottoms) - min(bottoms) or 1.0
    at = [((p.p95_ms - min(lefts)) / wide, (p.throughput - min(bottoms)) / tall) for p in points]
    taken: list[tuple[float, float]] = []
    sides = [""] * len(points)
    for index in _named(points):
        x, y = at[index]
        is_left = x <= 0.5
        middle = x + (_NAME_WIDTH / 2) * (1 if is_left else -1)
        free: list[tuple[int, int, str, tuple[float, float]]] = []
        for place, lift in (("middle", 0.0), ("top", _NAME_HEIGHT), ("bottom", -_NAME_HEIGHT)):
            spot = middle, y + lift
            if any(_touch(spot, other, 1.0) for other in taken):
                continue
            covered = sum(_touch(spot, there, 0.5) for there in at if there != (x, y))
            free.append((covered, len(free), place, spot))
        if free:
            _, _, place, spot = min(free)
            taken.append(spot)
            sides[index] = f"{place} {'right' if is_left else 'left'}"
    return sides


def _named(points: Sequence[Point]) -> list[int]:
    """Return the places of the candidates to name, in the order in which they get room."""
    best = max(points, key=lambda point: point.throughput)

    def turn(index: int) -> tuple[bool, bool, float]:
        point = points[index]
        return not (point is best or point.is_baseline), not point.is_front, -point.throughput

    order = sorted(range(len(points)), key=turn)
    if len(points) <= MAX_NAMED:
        return order
    return [index for index in order if not all(turn(index)[:2])][:MAX_NAMED]


def _touch(one: tuple[float, float], other: tuple[float, float], share: float) -> bool:
    """Whether two names lie within that share of a name's size of each other."""
    near = abs(one[0] - other[0]) <= share * _NAME_WIDTH
    return near and abs(one[1] - other[1]) <= share * _NAME_HEIGHT


def _hover_text(point: Point, unit: str) -> str:
    path = "" if point.megacycles is None else f", {point.megacycles:.1f} Mcycles per transaction"
    words = {"baseline": point.is_baseline, "Pareto front": point.is_front}
    marks = ", ".join(word for word, holds in words.items() if holds)
    tail = f" ({marks})" if marks else ""
    name = plain(point.name)
    return f"{name}{tail}<br>{point.throughput:,.0f} {unit}, p95 {point.p95_ms:.1f} ms{path}"
