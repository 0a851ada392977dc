"""A search: the best so far, results by the value of one knob, throughput against its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.charts.axes import percent_of
from advisor.charts.figure import Figure
from advisor.charts.search_map import parallel_figure
from advisor.charts.style import BAND, BLUE, GREEN, GREY, ORANGE, RED, lay_out, plain, wrapped
from advisor.wording.addresses import run_url
from advisor.wording.spaces import knob_text
from benchmarks.models import RunState
from tuning.results.document import Search, ShortRun, StudyDocument, TriedConfig
from tuning.statistics.aim import FULL_NAMES
from tuning.statistics.data import Metric
from tuning.strategy.search.space import Dimension, Space


def search_figures(document: StudyDocument) -> dict[str, Figure]:
    """Return the charts that have data; knobs that matter most come first."""
    found = document.search
    if found is None or not found.has_figures:
        return {}
    space = Space.from_json(found.space)
    known = [one.name for one in found.importance.knobs] if found.importance else []
    order = known or space.names
    figures = {
        "search-best": _best_figure(document, found),
        "search-slices": _slice_figure(document, found, space, order),
        "search-parallel": parallel_figure(document, found, space, order),
        "search-front": _front_figure(document, found),
    }
    return {key: figure for key, figure in figures.items() if figure is not None}


def _best_figure(document: StudyDocument, found: Search) -> Figure:
    """Draw every short run as a dot, the best so far as a line with the noise of a run around."""
    figure = Figure()
    numbers = [one.number for one in found.best]
    if found.noise is not None:
        share = 1 + 2 * found.noise
        upper = [percent_of(one.ratio * share) for one in found.best]
        lower = [percent_of(one.ratio / share) for one in found.best]
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
        x=numbers,
        y=[percent_of(one.ratio) for one in found.best],
        mode="lines",
        line={"color": ORANGE, "shape": "hv", "width": 2},
        name="best so far",
        customdata=[plain(document.candidate[one.candidate_id].name) for one in found.best],
        hovertemplate="best so far: %{customdata}, %{y:+.1f} %<extra></extra>",
    )
    made = {one.id for one in document.candidates if one.found_by_search}
    known = [run for run in found.runs if run.ratio is not None]
    given = [run for run in known if run.candidate_id not in made]
    proposed = [run for run in known if run.candidate_id in made]
    for name, colour, runs in (("given", GREY, given), ("proposed by the search", BLUE, proposed)):
        if runs:
            figure.add_scatter(
                x=[run.number for run in runs],
                y=[percent_of(run.ratio or 1.0) for run in runs],
                mode="markers",
                marker={"color": colour, "size": 8},
                name=name,
                customdata=[_hover(document, run) for run in runs],
                hovertemplate="%{customdata[0]}<br>%{y:+.1f} %<extra></extra>",
            )
    if lost := [run for run in found.runs if run.ratio is None]:
        figure.add_scatter(
            x=[run.number for run in lost],
            y=[0.04] * len(lost),
            yaxis="y2",
            mode="markers",
            marker={"color": RED, "size": 9, "symbol": "x"},
            name="no result",
            customdata=[_hover(document, run) for run in lost],
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
    figure.add_hline(y=0, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_xaxes(title_text="short runs", zeroline=False, rangemode="tozero")
    figure.update_yaxes(title_text=f"{FULL_NAMES[found.metric]}, change from the baseline, %")
    lay_out(figure, 360)
    figure.update_layout(
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        legend={"yref": "container", "yanchor": "top"},
    )
    return figure


def _hover(document: StudyDocument, run: ShortRun) -> list[str]:
    candidate = document.candidate[run.candidate_id]
    state = "" if run.state == RunState.OK else f": {RunState(run.state).label}"
    head = plain(f"{candidate.name}{state}, round {run.round}")
    return [f"{head}<br>{wrapped(candidate.source, 60)}", run_url(run.run_id)]


def _slice_figure(
    document: StudyDocument, found: Search, space: Space, order: Sequence[str]
) -> Figure | None:
    """Draw one knob at a time, chosen from a list; the other knobs vary."""
    figure = Figure()
    axes: list[dict[str, Any]] = []
    for one in sorted(space.dimensions, key=lambda one: order.index(one.name)):
        points = list(_values(document, found, one))
        if not points:
            continue
        figure.add_scatter(
            x=[value for value, _, _ in points],
            y=[percent_of(run.ratio or 1.0) for _, _, run in points],
            mode="markers",
            marker={"color": BLUE, "size": 8},
            visible=not axes,
            name=one.name,
            customdata=[
                [
                    plain(f"{document.candidate[run.candidate_id].name}: {one.name} = {text}"),
                    run_url(run.run_id),
                ]
                for _, text, run in points
            ],
            hovertemplate="%{customdata[0]}<br>%{y:+.1f} %<extra></extra>",
        )
        axes.append(_axis(one, [value for value, _, _ in points]))
    if not axes:
        return None
    buttons = [
        _button(name, [at == chosen for at in range(len(axes))], axes[chosen])
        for chosen, name in enumerate(trace["name"] for trace in figure.data)
    ]
    first = {key.removeprefix("xaxis."): value for key, value in axes[0].items()}
    figure.add_hline(y=0, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_yaxes(title_text=f"{FULL_NAMES[found.metric]}, change from the baseline, %")
    return _with_list(figure, buttons, first)


def _values(
    document: StudyDocument, found: Search, one: Dimension
) -> list[tuple[float | str, str, ShortRun]]:
    """Return (value, value as text, run) of the runs with a result and a known value."""
    points: list[tuple[float | str, str, ShortRun]] = []
    for run in found.runs:
        text = document.candidate[run.candidate_id].knobs.get(one.name) or one.default
        if run.ratio is None or not text:
            continue
        try:
            value = float(text) if one.is_number else text
        except ValueError:
            continue
        points.append((value, knob_text(one.name, text), run))
    return points


def _axis(one: Dimension, points: Sequence[float | str]) -> dict[str, Any]:
    """Return the axis of a knob; it is logarithmic only if all values are positive."""
    values = [value for value in points if isinstance(value, float)]
    is_log = one.is_log and all(value > 0 for value in values)
    ticks = _ticks(one, values) if one.is_number else {}
    return {
        "xaxis.title": {"text": one.name},
        "xaxis.type": "log" if is_log else "linear" if one.is_number else "category",
        "xaxis.autorange": True,
        "xaxis.tickvals": list(ticks) or None,
        "xaxis.ticktext": list(ticks.values()) or None,
    }


def _ticks(one: Dimension, values: Sequence[float]) -> dict[float, str]:
    """Return a few values of the space, evenly on its scale, as far as the points reach."""
    levels = [text for text in one.levels if text not in one.special]

    def nearest(share: float) -> str:
        return min(levels, key=lambda text: abs(one.share(float(text)) - share))

    chosen = {nearest(number / 4) for number in range(5)}
    found = {float(text): knob_text(one.name, text) for text in chosen}
    low, high = min(values), max(values)
    near = {value: text for value, text in found.items() if low <= value <= high}
    return dict(sorted((near or found).items()))


def _front_figure(document: StudyDocument, found: Search) -> Figure | None:
    """Draw throughput against response time or CPU, chosen from a list; the front is a line."""
    both = {
        cost: [one for one in found.tried if {Metric.TPMP, cost} <= one.ratios.keys()]
        for cost in found.fronts
    }
    costs = [cost for cost, tried in both.items() if tried]
    if not costs:
        return None
    figure = Figure()
    for cost in costs:
        _add_front(figure, document, both[cost], found.fronts[cost], cost)
        for trace in figure.data[-2:]:
            trace["visible"] = cost == costs[0]
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="markers",
        marker={"color": ORANGE, "size": 12, "symbol": "square"},
        name="baseline",
        hovertemplate="baseline<extra></extra>",
    )
    titles = {c: f"{FULL_NAMES[c]}, change from the baseline, % (lower is better)" for c in costs}
    figure.update_yaxes(title_text="tpmP, change from the baseline, %", zeroline=False)
    buttons = [
        _button(
            f"against {FULL_NAMES[cost]}",
            [at // 2 == chosen for at in range(2 * len(costs))] + [True],
            {"xaxis.title": {"text": titles[cost]}, "xaxis.autorange": True},
        )
        for chosen, cost in enumerate(costs)
    ]
    first = {"title": {"text": titles[costs[0]]}, "zeroline": False}
    return _with_list(figure, buttons if len(costs) > 1 else [], first)


def _add_front(
    figure: Figure,
    document: StudyDocument,
    tried: Sequence[TriedConfig],
    front: Sequence[int],
    cost: Metric,
) -> None:
    there = {one.candidate_id: one for one in tried}
    names = {pk: plain(document.candidate[pk].name) for pk in there}
    on_front = [there[pk] for pk in front]
    figure.add_scatter(
        x=[percent_of(one.ratios[cost]) for one in on_front],
        y=[percent_of(one.ratios[Metric.TPMP]) for one in on_front],
        mode="lines",
        line={"color": GREEN, "width": 1.5, "shape": "vh"},
        hoverinfo="skip",
        name="Pareto front",
        ids=[names[one.candidate_id] for one in on_front],
    )
    figure.add_scatter(
        x=[percent_of(one.ratios[cost]) for one in tried],
        y=[percent_of(one.ratios[Metric.TPMP]) for one in tried],
        mode="markers",
        marker={
            "color": BLUE,
            "size": [12 if pk in front else 8 for pk in there],
            "line": {"color": GREEN, "width": [3 if pk in front else 0 for pk in there]},
        },
        name="one config",
        ids=list(names.values()),
        customdata=[[names[one.candidate_id], run_url(one.last_run_id)] for one in tried],
        hovertemplate="%{customdata[0]}<br>tpmP %{y:+.1f} %, "
        f"{FULL_NAMES[cost]} %{{x:+.1f}} %<extra></extra>",
    )


def _button(label: str, visible: Sequence[bool], axis: dict[str, Any]) -> dict[str, Any]:
    return {"label": label, "method": "update", "args": [{"visible": list(visible)}, axis]}


def _with_list(figure: Figure, buttons: Sequence[Any], axis: dict[str, Any]) -> Figure:
    """Finish a chart whose traces are chosen from a list; `axis` is the first one."""
    lay_out(figure, 380, legend=False)
    figure.update_layout(xaxis=axis, margin={"t": 50})
    if buttons:
        place = {"x": 0, "xanchor": "left", "y": 1.16, "yanchor": "top"}
        figure.update_layout(updatemenus=[{"buttons": buttons, **place}])
    return figure
