"""All configs of a search as lines across their settings to their result.

They are plain lines: Plotly's own kind needs code that the content security policy forbids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from advisor.charts.axes import percent_of
from advisor.charts.figure import Figure, add_points, lay_out, run_url
from advisor.charts.style import GREY, plain
from advisor.wording.spaces import knob_text
from tuning.results.document import Search, StudyDocument, TriedConfig
from tuning.statistics.aim import FULL_NAMES
from tuning.strategy.search.space import Dimension, Space

# Axes before the result: more cannot be read.
_MAX_AXES = 8
# From the worst fifth of the configs to the best: colour, width, name. Not red and green.
_FIFTHS = (
    ("#d9822b", 1.0, "worst fifth"),
    ("#d0aa7d", 1.0, "second worst"),
    ("#8a94a0", 1.0, "middle"),
    ("#6f9fcb", 1.5, "second best"),
    ("#1f6fb4", 2.5, "best fifth"),
)
# Special values of a number stand below its scale.
_SPECIAL = -0.12
_LABEL_WIDTH = 13

#: Height on an axis and hover text; None where the value is not known.
_Point = tuple[float | None, str]


def parallel_figure(
    document: StudyDocument, found: Search, space: Space, order: Sequence[str]
) -> Figure | None:
    """Draw the knobs in `order`, as many as fit; None for fewer than two configs."""
    by_name = {one.name: one for one in space.dimensions}
    axes = [by_name[name] for name in order if name in by_name][:_MAX_AXES]
    ranked = [one for one in found.tried if one.ratio is not None]
    if len(ranked) < 2 or not axes:
        return None
    ratios = [percent_of(one.ratio or 1.0) for one in ranked]
    low, high = min(ratios), max(ratios)
    figure = Figure()
    for fifth, (colour, width, word) in enumerate(_FIFTHS):
        x: list[float | None] = []
        points: list[_Point | None] = []
        urls: list[str] = []
        for place, one in enumerate(ranked):  # the best first
            if 4 - place * 5 // len(ranked) == fifth:
                line = _line(document, one, axes, (low, high))
                x += [*range(len(line)), None]
                points += [*line, None]
                urls += [run_url(one.last_run_id)] * (len(line) + 1)
        if x:
            add_points(
                figure,
                x,
                [point and point[0] for point in points],
                [point and plain(point[1]) for point in points],
                urls,
                mode="lines+markers",
                line={"color": colour, "width": width},
                marker={"size": 5},
                name=word,
            )
    result = [(0.0, f"{low:+.0f} %"), (1.0, f"{high:+.0f} %")]
    for at, labels in enumerate([*map(_ends, axes), result]):
        _draw_axis(figure, at, labels)
    names = [_broken(one.name) for one in axes]
    figure.update_axes(
        "x",
        tickvals=list(range(len(axes) + 1)),
        ticktext=[*names, f"{FULL_NAMES[found.metric]},<br>change, %"],
        range=[-0.4, len(axes) + 0.4],
        showgrid=False,
    )
    figure.update_axes("y", visible=False, range=[-0.22, 1.14], showgrid=False, fixedrange=True)
    return lay_out(figure, 420, x="variables, and the result of each config")


def _line(
    document: StudyDocument,
    one: TriedConfig,
    axes: Sequence[Dimension],
    ends: tuple[float, float],
) -> list[_Point]:
    (low, high), change = ends, percent_of(one.ratio or 1.0)
    candidate = document.candidate[one.candidate_id]
    points: list[_Point] = []
    for axis in axes:
        value = candidate.knobs.get(axis.name) or axis.default
        shown = f"{axis.name} = {knob_text(axis.name, value)}" if value else "value not known"
        points.append((_height(axis, value), f"{candidate.name}, {change:+.1f} %: {shown}"))
    last = (change - low) / (high - low) if high > low else 0.5
    return [*points, (last, f"{candidate.name}: {change:+.1f} %")]


def _height(axis: Dimension, value: str) -> float | None:
    if value in axis.special:
        return _SPECIAL
    if not axis.is_number:
        last = max(len(axis.choices) - 1, 1)
        return axis.choices.index(value) / last if value in axis.choices else None
    try:
        return min(max(axis.share(float(value)), 0.0), 1.0)
    except ValueError:
        return None


def _ends(axis: Dimension) -> list[tuple[float, str]]:
    """Return the labels of an axis by height: its ends, or all choices."""
    if not axis.is_number:
        last = max(len(axis.choices) - 1, 1)
        return [(at / last, choice) for at, choice in enumerate(axis.choices)]
    scale = [text for text in axis.levels if text not in axis.special]
    ends = [(0.0, knob_text(axis.name, scale[0])), (1.0, knob_text(axis.name, scale[-1]))]
    return [*ends, *((_SPECIAL, knob_text(axis.name, text)) for text in axis.special[:1])]


def _draw_axis(figure: Figure, at: int, labels: Iterable[tuple[float, str]]) -> None:
    """Draw the axis and its labels: above or below it, those between its ends at its right."""
    line = {"color": GREY, "width": 1}
    figure.add_shape("line", x0=at, x1=at, y0=0, y1=1, layer="below", line=line)
    for height, text in labels:
        is_between = 0.0 < height < 1.0
        figure.add_annotation(
            plain(text),
            x=at,
            y=height,
            xanchor="left" if is_between else "center",
            xshift=6 if is_between else 0,
            yanchor="bottom" if height >= 1.0 else "top",
            yshift=-3 if height <= 0.0 else 3 if height >= 1.0 else 0,
            font={"size": 10},
        )


def _broken(name: str) -> str:
    """Break a long name at its underscores."""
    lines = [""]
    for part in name.split("_"):
        joined = f"{lines[-1]}_{part}" if lines[-1] else part
        if len(joined) <= _LABEL_WIDTH or not lines[-1]:
            lines[-1] = joined
        else:
            lines[-1] += "_"
            lines.append(part)
    return "<br>".join(map(plain, lines))
