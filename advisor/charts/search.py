"""A search: the best so far, results by the value of one knob, throughput against its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.charts.axes import percent_of
from advisor.charts.board import WITHOUT_VALUES
from advisor.charts.figure import Figure, add_points, lay_out, run_url
from advisor.charts.search_map import parallel_figure
from advisor.charts.style import BAND, BLUE, GREEN, GREY, ORANGE, RED, plain, wrapped
from advisor.wording.spaces import knob_text
from benchmarks.models import RunState
from tuning.results.document import Search, ShortRun, StudyDocument
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
    kinds: dict[str, tuple[dict[str, Any], list[ShortRun]]] = {
        "given": ({"marker": {"color": GREY, "size": 8}}, []),
        "proposed by the search": ({"marker": {"color": BLUE, "size": 8}}, []),
        "no result": ({"marker": {"color": RED, "size": 9, "symbol": "x"}, "yaxis": "y2"}, []),
    }
    for run in found.runs:
        kind = "proposed by the search" if run.candidate_id in made else "given"
        kinds["no result" if run.ratio is None else kind][1].append(run)
    for name, (look, runs) in kinds.items():
        if runs:
            add_points(
                figure,
                [run.number for run in runs],
                [0.04 if run.ratio is None else percent_of(run.ratio) for run in runs],
                [_hover(document, run) for run in runs],
                [run_url(run.run_id) for run in runs],
                name=name,
                **look,
            )
    figure.add_line_at(y=0, colour=GREY)
    figure.update_axes("x", rangemode="tozero")
    lay_out(figure, 360, x="short runs", y=_change(found.metric))
    figure.update(legend={"yref": "container", "yanchor": "top"})
    figure.update(yaxis2=WITHOUT_VALUES)
    return figure


def _change(metric: Metric) -> str:
    return f"{FULL_NAMES[metric]}, change from the baseline, %"


def _hover(document: StudyDocument, run: ShortRun) -> str:
    candidate = document.candidate[run.candidate_id]
    state = "" if run.state == RunState.OK else f": {RunState(run.state).label}"
    result = "" if run.ratio is None else f"<br>{percent_of(run.ratio):+.1f} %"
    head = plain(f"{candidate.name}{state}, round {run.round}")
    return f"{head}<br>{wrapped(candidate.source, 60)}{result}"


def _slice_figure(
    document: StudyDocument, found: Search, space: Space, order: Sequence[str]
) -> Figure | None:
    """Draw one knob at a time, chosen from a list; the other knobs vary."""
    figure = Figure()
    axes: list[dict[str, Any]] = []
    for one in sorted(space.dimensions, key=lambda one: order.index(one.name)):
        points = _values(document, found, one)
        if not points:
            continue
        values = [value for value, _, _ in points]
        names = [document.candidate[run.candidate_id].name for _, _, run in points]
        changes = [percent_of(run.ratio or 1.0) for _, _, run in points]
        add_points(
            figure,
            values,
            changes,
            [
                f"{plain(f'{name}: {one.name} = {text}')}<br>{change:+.1f} %"
                for name, change, (_, text, _) in zip(names, changes, points, strict=True)
            ],
            [run_url(run.run_id) for _, _, run in points],
            marker={"color": BLUE, "size": 8},
            visible=not axes,
            name=one.name,
        )
        axes.append(_axis(one, values))
    if not axes:
        return None
    buttons = [
        _button(trace["name"], [at == chosen for at in range(len(axes))], axes[chosen])
        for chosen, trace in enumerate(figure.data)
    ]
    figure.add_line_at(y=0, colour=GREY)
    return _with_list(figure, buttons, _change(found.metric))


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
        "title": {"text": one.name},
        "type": "log" if is_log else "linear" if one.is_number else "category",
        "autorange": True,
        "tickvals": list(ticks) or None,
        "ticktext": list(ticks.values()) or None,
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
    figure = Figure()
    costs = [
        cost
        for cost in found.fronts
        if any({Metric.THROUGHPUT, cost} <= one.ratios.keys() for one in found.tried)
    ]
    if not costs:
        return None
    for cost in costs:
        _add_front(figure, document, found, cost, visible=cost == costs[0])
    figure.add_scatter(
        x=[0],
        y=[0],
        mode="markers",
        marker={"color": ORANGE, "size": 12, "symbol": "square"},
        name="baseline",
        hovertemplate="baseline<extra></extra>",
    )
    buttons = [
        _button(
            f"against {FULL_NAMES[cost]}",
            [at // 2 == chosen for at in range(2 * len(costs))] + [True],
            {"title": {"text": f"{_change(cost)} (lower is better)"}, "autorange": True},
        )
        for chosen, cost in enumerate(costs)
    ]
    return _with_list(figure, buttons, _change(Metric.THROUGHPUT))


def _add_front(
    figure: Figure, document: StudyDocument, found: Search, cost: Metric, *, visible: bool
) -> None:
    tried = [one for one in found.tried if {Metric.THROUGHPUT, cost} <= one.ratios.keys()]
    names = {one.candidate_id: plain(document.candidate[one.candidate_id].name) for one in tried}
    changes = {
        one.candidate_id: (percent_of(one.ratios[cost]), percent_of(one.ratios[Metric.THROUGHPUT]))
        for one in tried
    }
    front = found.fronts[cost]
    figure.add_scatter(
        x=[changes[pk][0] for pk in front],
        y=[changes[pk][1] for pk in front],
        mode="lines",
        line={"color": GREEN, "width": 1.5, "shape": "vh"},
        hoverinfo="skip",
        name="Pareto front",
        ids=[names[pk] for pk in front],
        visible=visible,
    )
    add_points(
        figure,
        [x for x, _ in changes.values()],
        [y for _, y in changes.values()],
        [
            f"{names[pk]}<br>throughput {y:+.1f} %, {FULL_NAMES[cost]} {x:+.1f} %"
            for pk, (x, y) in changes.items()
        ],
        [run_url(one.last_run_id) for one in tried],
        marker={
            "color": BLUE,
            "size": [12 if pk in front else 8 for pk in changes],
            "line": {"color": GREEN, "width": [3 if pk in front else 0 for pk in changes]},
        },
        name="one config",
        ids=list(names.values()),
        visible=visible,
    )


def _button(label: str, visible: Sequence[bool], axis: dict[str, Any]) -> dict[str, Any]:
    """Return a choice of traces with their x axis."""
    shown = {f"xaxis.{name}": value for name, value in axis.items()}
    return {"label": label, "method": "update", "args": [{"visible": list(visible)}, shown]}


def _with_list(figure: Figure, buttons: Sequence[Any], y: str) -> Figure:
    """Finish a chart whose traces are chosen from a list; the first choice is shown."""
    lay_out(figure, 380, y=y, legend=False)
    first = {key.removeprefix("xaxis."): value for key, value in buttons[0]["args"][1].items()}
    figure.update(xaxis=first, margin={"t": 50})
    if len(buttons) > 1:
        place = {"x": 0, "xanchor": "left", "y": 1.16, "yanchor": "top"}
        figure.update(updatemenus=[{"buttons": buttons, **place}])
    return figure
