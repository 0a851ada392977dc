"""The last minute of a run as small curves that a page draws without a library.

Plotly redrawing every two seconds would cost the browser, and often the measured host itself, far
more than what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.telemetry.live import MAX_SECONDS, LiveSecond

WIDTH, HEIGHT = 300, 60
# Seconds that are further apart than this were not seen in between: the curve has a gap.
_GAP_S = 3


@dataclass(frozen=True)
class LiveCurve:
    """One figure over the last minute.

    `lines` are the points of one polyline each, in a box of WIDTH x HEIGHT with zero below; `most`
    is the value at the upper edge; `warm_from` and `warm_width` are the part that was seen of the
    warm-up, which is 0 wide after it.
    """

    title: str
    unit: str
    latest: float | None
    most: float
    lines: list[str]
    warm_from: float
    warm_width: float


def live_curves(seconds: Sequence[LiveSecond]) -> list[LiveCurve]:
    """Transactions per second, their p95 and the CPU; a figure that nobody told has no curve."""
    found = [
        _curve("Transactions", "per second", seconds, [one.completed for one in seconds]),
        _curve("p95", "ms", seconds, [one.p95_ms for one in seconds]),
        _curve("CPU, user and sys", "%", seconds, [one.cpu_pct for one in seconds], most=100.0),
    ]
    return [curve for curve in found if curve.lines]


def _curve(
    title: str,
    unit: str,
    seconds: Sequence[LiveSecond],
    values: Sequence[float | None],
    most: float | None = None,
) -> LiveCurve:
    known = [value for value in values if value is not None]
    top = most or _round_up(max(known, default=1.0))
    begin = seconds[-1].second - MAX_SECONDS + 1
    points = [
        (one.second, _across(one.second - begin), HEIGHT * (1 - min(value / top, 1.0)))
        for one, value in zip(seconds, values, strict=True)
        if value is not None
    ]
    lines = [" ".join(f"{x:.1f},{y:.1f}" for _, x, y in part) for part in _parts(points)]
    latest = next((value for value in reversed(values) if value is not None), None)
    warm_from = max(0.0, _across(seconds[0].second - begin))
    warm_width = max(0.0, _across(-begin) - warm_from)
    return LiveCurve(title, unit, latest, top, lines, warm_from, warm_width)


def _across(second: float) -> float:
    return WIDTH * second / (MAX_SECONDS - 1)


def _parts(
    points: Sequence[tuple[int, float, float]],
) -> Iterator[list[tuple[int, float, float]]]:
    part: list[tuple[int, float, float]] = []
    for point in points:
        if part and point[0] - part[-1][0] > _GAP_S:
            yield part
            part = []
        part.append(point)
    if part:
        yield part


def _round_up(value: float) -> float:
    """Round up to 1, 1.5, 2, 3, 5 or 7.5 times a power of ten: the scale seldom changes."""
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1)
    return next(
        step * power for step in (1, 1.5, 2, 3, 5, 7.5, 10) if step * power >= value or step == 10
    )
