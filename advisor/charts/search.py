"""A search: the best so far over its short runs, and results by the value of one knob."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.charts.figure import Figure
from advisor.charts.palette import BAND, BLUE, GREY, ORANGE, RED
from advisor.charts.search_map import front_figure, parallel_figure
from advisor.charts.text import plain, wrapped
from advisor.wording.addresses import run_url
from advisor.wording.spaces import knob_text
from benchmarks.models import RunState
from tuning.results.searched import Look, SearchResult
from tuning.statistics.aim import FULL_NAMES
from tuning.strategy.search.space import Dimension, Space

_HEIGHT = 360
_LEGEND = {
    "orientation": "h",
    "yref": "container",
    "yanchor": "top",
    "y": 1,
    "xanchor": "left",
    "x": 0,
}


def search_figures(found: SearchResult, space: Space, order: Sequence[str]) -> dict[str, Figure]:
    """The charts that have data; `order`: the knobs, those that matter most first."""
    if not any(look.ratio is not None for look in found.looks):
        return {}
    figures = {"search-best": _best_figure(found)}
    slices = _slices(found, space, order)
    if slices:
        figures["search-slices"] = _slice_figure(found, slices)
    if (parallel := parallel_figure(found, space, order)) is not None:
        figures["search-parallel"] = parallel
    if (front := front_figure(found)) is not None:
        figures["search-front"] = front
    return figures


def _best_figure(found: SearchResult) -> Figure:
    """Every short run as a dot, the best so far as a line with the noise of a run around it."""
    figure = Figure()
    best = [(one.number, _percent(one.ratio)) for one in found.best]
    if found.noise is not None:
        shares = (1 + 2 * found.noise, 1 / (1 + 2 * found.noise))
        upper, lower = ([_percent(one.ratio * share) for one in found.best] for share in shares)
        numbers = [number for number, _ in best]
        figure.add_scatter(
            x=[*numbers, *reversed(numbers)],
            y=[*upper, *reversed(lower)],
            fill="toself",
            fillcolor=BAND,
            line={"width": 0},
            hoverinfo="skip",
            name="noise of one run (2 sd)",
        )
    figure.add_scatter(
        x=[number for number, _ in best],
        y=[ratio for _, ratio in best],
        mode="lines",
        line={"color": ORANGE, "shape": "hv", "width": 2},
        name="best so far",
        customdata=[plain(one.candidate.name) for one in found.best],
        hovertemplate="best so far: %{customdata}, %{y:+.1f} %<extra></extra>",
    )
    for name, colour, is_given in (("given", GREY, True), ("proposed by the search", BLUE, False)):
        looks = [
            look
            for look in found.looks
            if look.ratio is not None and look.candidate.found_by_search is not is_given
        ]
        if looks:
            figure.add_scatter(
                x=[look.number for look in looks],
                y=[_percent(look.ratio) for look in looks],
                mode="markers",
                marker={"color": colour, "size": 8},
                name=name,
                customdata=[_hover(look) for look in looks],
                hovertemplate="%{customdata[0]}<br>%{y:+.1f} %<extra></extra>",
            )
    if lost := [look for look in found.looks if look.ratio is None]:
        figure.add_scatter(
            x=[look.number for look in lost],
            y=[0.04] * len(lost),
            yaxis="y2",
            mode="markers",
            marker={"color": RED, "size": 9, "symbol": "x"},
            name="no result",
            customdata=[_hover(look) for look in lost],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
    figure.add_hline(y=0, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_xaxes(title_text="short runs", zeroline=False, rangemode="tozero")
    figure.update_yaxes(title_text=f"{FULL_NAMES[found.metric]}, change from the baseline, %")
    figure.update_layout(
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        showlegend=True,
        legend=_LEGEND,
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        height=_HEIGHT,
    )
    return figure


def _hover(look: Look) -> list[str]:
    state = "" if look.run.state == RunState.OK else f": {RunState(look.run.state).label}"
    head = plain(f"{look.candidate.name}{state}, round {look.round}")
    return [f"{head}<br>{wrapped(look.candidate.source, 60)}", run_url(look.run.pk)]


# The value on the axis, as it is read, and the look.
_Points = list[tuple[float | str, str, Look]]


def _slices(
    found: SearchResult, space: Space, order: Sequence[str]
) -> list[tuple[Dimension, _Points]]:
    """By knob: (value, value as text, run) of the runs with a result and a known value."""
    slices = []
    for one in sorted(space.dimensions, key=lambda one: order.index(one.name)):
        points: _Points = []
        for look in found.looks:
            text = look.candidate.config.knobs.get(one.name) or one.default
            x = _position(one, text)
            if look.ratio is not None and x is not None:
                points.append((x, knob_text(one.name, text), look))
        if points:
            slices.append((one, points))
    return slices


def _position(one: Dimension, text: str) -> float | str | None:
    if not one.is_number:
        return text or None
    try:
        return float(text)
    except ValueError:
        return None


def _slice_figure(found: SearchResult, slices: list[tuple[Dimension, _Points]]) -> Figure:
    """One knob at a time, chosen from a list; the other knobs vary."""
    figure = Figure()
    buttons = []
    for index, (one, points) in enumerate(slices):
        figure.add_scatter(
            x=[value for value, _, _ in points],
            y=[_percent(look.ratio) for _, _, look in points],
            mode="markers",
            marker={"color": BLUE, "size": 8},
            visible=index == 0,
            name=one.name,
            customdata=[
                [plain(f"{look.candidate.name}: {one.name} = {text}"), run_url(look.run.pk)]
                for _, text, look in points
            ],
            hovertemplate="%{customdata[0]}<br>%{y:+.1f} %<extra></extra>",
        )
        shown = [number == index for number in range(len(slices))]
        axes = _axis(one, points)
        buttons.append({"label": one.name, "method": "update", "args": [{"visible": shown}, axes]})
    first = _axis(*slices[0])
    figure.update_layout(
        xaxis={key.removeprefix("xaxis."): value for key, value in first.items()},
        updatemenus=[{"buttons": buttons, "x": 0, "xanchor": "left", "y": 1.16, "yanchor": "top"}],
        showlegend=False,
        margin={"l": 8, "r": 8, "t": 50, "b": 8},
        height=_HEIGHT,
    )
    figure.add_hline(y=0, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_yaxes(title_text=f"{FULL_NAMES[found.metric]}, change from the baseline, %")
    return figure


def _axis(one: Dimension, points: _Points) -> dict[str, object]:
    """The axis of a knob; logarithmic only if all its values are positive."""
    values = [value for value, _, _ in points if isinstance(value, float)]
    is_log = one.is_log and all(value > 0 for value in values)
    kind = "log" if is_log else "linear" if one.is_number else "category"
    ticks = _ticks(one, values) if one.is_number else {}
    return {
        "xaxis.title": {"text": one.name},
        "xaxis.type": kind,
        "xaxis.autorange": True,
        "xaxis.tickvals": list(ticks) or None,
        "xaxis.ticktext": list(ticks.values()) or None,
    }


def _ticks(one: Dimension, values: list[float]) -> dict[float, str]:
    """A few values of the space, evenly on its scale, as far as the points reach."""
    levels = [text for text in one.levels if text not in one.special]

    def nearest(share: float) -> str:
        return min(levels, key=lambda text: abs(one.share(float(text)) - share))

    chosen = {nearest(number / 4) for number in range(5)}
    found = {float(text): knob_text(one.name, text) for text in chosen}
    low, high = min(values), max(values)
    near = {value: text for value, text in found.items() if low <= value <= high}
    return dict(sorted((near or found).items()))


def _percent(ratio: float | None) -> float:
    return ((ratio or 1.0) - 1) * 100
