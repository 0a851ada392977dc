"""All configs of a search in one chart: by their settings, and by throughput and its price."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from advisor.charts.figure import Figure
from advisor.charts.palette import BLUE, GREEN, GREY, ORANGE
from advisor.charts.text import plain
from advisor.wording.addresses import run_url
from advisor.wording.spaces import knob_text
from tuning.results.searched import SearchResult, Tried
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric
from tuning.strategy.search.space import Dimension, Space

# Axes beside that of the result: more cannot be read.
MAX_AXES = 8
# From the worst fifth of the configs to the best; also told apart without red and green.
_FIFTHS = ("#d9822b", "#d0aa7d", "#8a94a0", "#6f9fcb", "#1f6fb4")
_WIDTHS = (1.0, 1.0, 1.0, 1.5, 2.5)
_WORDS = ("worst fifth", "second worst", "middle", "second best", "best fifth")
# Where special values of a number stand: below its scale.
_SPECIAL = -0.12
_COSTS = {
    Metric.P95: "p95 response time, change from the baseline, % (lower is better)",
    Metric.SERVER_PATH_LENGTH: "server path length, change from the baseline, % (lower is better)",
}


def parallel_figure(found: SearchResult, space: Space, order: Sequence[str]) -> Figure | None:
    """A line per config across its settings to its result; knobs in `order`, as many as fit.

    Drawn with plain lines: Plotly's own kind needs code that the content security policy forbids.
    """
    by_name = {one.name: one for one in space.dimensions}
    axes = [by_name[name] for name in order if name in by_name][:MAX_AXES]
    ranked = [one for one in found.tried if one.ratio is not None]
    if len(ranked) < 2 or not axes:
        return None
    ratios = [_percent(one.ratio) for one in ranked]
    low, high = min(ratios), max(ratios)
    figure = Figure()
    for fifth, (colour, width, word) in enumerate(zip(_FIFTHS, _WIDTHS, _WORDS, strict=True)):
        x: list[float | None] = []
        y: list[float | None] = []
        texts: list[list[str] | None] = []
        for index, one in enumerate(ranked):  # the best first
            if 4 - index * 5 // len(ranked) != fifth:
                continue
            for at, (height, text) in enumerate(_line(one, axes, low, high)):
                x.append(at)
                y.append(height)
                texts.append([plain(text), run_url(one.last.run.pk)])
            x.append(None)
            y.append(None)
            texts.append(None)
        if x:
            figure.add_scatter(
                x=x,
                y=y,
                mode="lines+markers",
                line={"color": colour, "width": width},
                marker={"size": 5},
                name=word,
                customdata=texts,
                hovertemplate="%{customdata[0]}<extra></extra>",
            )
    for at, axis in enumerate(axes):
        _draw_axis(figure, at)
        for height, text in _ends(axis):
            _label(figure, at, height, text)
    _draw_axis(figure, len(axes))
    _label(figure, len(axes), 0.0, f"{low:+.0f} %")
    _label(figure, len(axes), 1.0, f"{high:+.0f} %")
    figure.update_xaxes(
        tickvals=list(range(len(axes) + 1)),
        ticktext=[
            *(_broken(one.name) for one in axes),
            f"{FULL_NAMES[found.metric]},<br>change, %",
        ],
        range=[-0.4, len(axes) + 0.4],
        showgrid=False,
        zeroline=False,
        title_text="variables, and the result of each config",
    )
    figure.update_yaxes(
        visible=False, range=[-0.22, 1.14], showgrid=False, zeroline=False, fixedrange=True
    )
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0},
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
        height=420,
    )
    return figure


def _line(
    one: Tried, axes: Sequence[Dimension], low: float, high: float
) -> list[tuple[float | None, str]]:
    """The height on each axis and what it stands for; None where the value is not known."""
    change = _percent(one.ratio)
    points: list[tuple[float | None, str]] = []
    for axis in axes:
        value = one.candidate.config.knobs.get(axis.name) or axis.default
        shown = f"{axis.name} = {knob_text(axis.name, value)}" if value else "value not known"
        points.append((_height(axis, value), f"{one.candidate.name}, {change:+.1f} %: {shown}"))
    last = (change - low) / (high - low) if high > low else 0.5
    points.append((last, f"{one.candidate.name}: {change:+.1f} %"))
    return points


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


def _ends(axis: Dimension) -> Iterable[tuple[float, str]]:
    if not axis.is_number:
        last = max(len(axis.choices) - 1, 1)
        return [(at / last, choice) for at, choice in enumerate(axis.choices)]
    scale = [text for text in axis.levels if text not in axis.special]
    ends = [(0.0, knob_text(axis.name, scale[0])), (1.0, knob_text(axis.name, scale[-1]))]
    return [*ends, *((_SPECIAL, knob_text(axis.name, text)) for text in axis.special[:1])]


def _draw_axis(figure: Figure, at: int) -> None:
    """From end to end of the scale: the words above and below it stand free."""
    line = {"color": GREY, "width": 1}
    figure.add_shape(type="line", x0=at, x1=at, y0=0, y1=1, layer="below", line=line)


def _label(figure: Figure, at: int, height: float, text: str) -> None:
    """Above or below the axis; a choice between its ends beside it."""
    is_between = 0.0 < height < 1.0
    figure.add_annotation(
        x=at,
        y=height,
        text=plain(text),
        showarrow=False,
        xanchor="left" if is_between else "center",
        xshift=6 if is_between else 0,
        yanchor="bottom" if height >= 1.0 else "top",
        yshift=-3 if height <= 0.0 else 3 if height >= 1.0 else 0,
        font={"size": 10},
    )


def _broken(name: str) -> str:
    """A long name over several lines."""
    lines = [""]
    for part in name.split("_"):
        joined = f"{lines[-1]}_{part}" if lines[-1] else part
        if len(joined) <= 13 or not lines[-1]:
            lines[-1] = joined
        else:
            lines[-1] += "_"
            lines.append(part)
    return "<br>".join(map(plain, lines))


def front_figure(found: SearchResult) -> Figure | None:
    """Throughput against response time or CPU, chosen from a list; the front as a line."""
    costs = [cost for cost in _COSTS if _points(found, cost)]
    if not costs:
        return None
    figure = Figure()
    for index, cost in enumerate(costs):
        points, front = _points(found, cost), found.front(cost)
        names = {one.candidate.pk for one in front}
        figure.add_scatter(
            x=[_percent(one.ratios[cost]) for one in front],
            y=[_percent(one.ratios[Metric.TPMP]) for one in front],
            mode="lines",
            line={"color": GREEN, "width": 1.5, "shape": "vh"},
            hoverinfo="skip",
            name="Pareto front",
            ids=[plain(one.candidate.name) for one in front],
            visible=index == 0,
        )
        figure.add_scatter(
            x=[_percent(one.ratios[cost]) for one in points],
            y=[_percent(one.ratios[Metric.TPMP]) for one in points],
            mode="markers",
            marker={
                "color": BLUE,
                "size": [12 if one.candidate.pk in names else 8 for one in points],
                "line": {
                    "color": GREEN,
                    "width": [3 if one.candidate.pk in names else 0 for one in points],
                },
            },
            name="one config",
            ids=[plain(one.candidate.name) for one in points],
            customdata=[[plain(one.candidate.name), run_url(one.last.run.pk)] for one in points],
            hovertemplate=(
                "%{customdata[0]}<br>tpmP %{y:+.1f} %, "
                f"{FULL_NAMES[cost]} %{{x:+.1f}} %<extra></extra>"
            ),
            visible=index == 0,
        )
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="markers",
        marker={"color": ORANGE, "size": 12, "symbol": "square"},
        name="baseline",
        hovertemplate="baseline<extra></extra>",
    )
    figure.update_xaxes(title_text=_COSTS[costs[0]], zeroline=False)
    figure.update_yaxes(title_text="tpmP, change from the baseline, %", zeroline=False)
    if len(costs) > 1:
        figure.update_layout(updatemenus=[_menu(costs)])
    figure.update_layout(showlegend=False, margin={"l": 8, "r": 16, "t": 50, "b": 8}, height=380)
    return figure


def _menu(costs: Sequence[Metric]) -> dict[str, object]:
    buttons = []
    for index, cost in enumerate(costs):
        shown = [at // 2 == index for at in range(2 * len(costs))] + [True]
        axis = {"xaxis.title": {"text": _COSTS[cost]}, "xaxis.autorange": True}
        label = f"against {FULL_NAMES[cost]}"
        buttons.append({"label": label, "method": "update", "args": [{"visible": shown}, axis]})
    return {"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.16, "yanchor": "top"}


def _points(found: SearchResult, cost: Metric) -> list[Tried]:
    return [one for one in found.tried if {Metric.TPMP, cost} <= one.ratios.keys()]


def _percent(ratio: float | None) -> float:
    return ((ratio or 1.0) - 1) * 100
