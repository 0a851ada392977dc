"""What each line of a winner contributes, with its 95 % interval."""

from __future__ import annotations

from math import exp, isfinite

from advisor.charts.figure import Figure
from advisor.charts.palette import BAND, BLUE, GREEN, GREY
from advisor.charts.rows import drawn_range, name_rows, percent_of, whiskers
from advisor.charts.text import plain
from tuning.results.apart import LinesEffect, TakenApart
from tuning.statistics.data import Metric
from tuning.statistics.removal import RemovalState

TITLES = {
    Metric.TPMP: "what the line contributes, tpmP in % (right is better)",
    Metric.P95: "what the line does to p95, in % (left is better)",
    Metric.SERVER_PATH_LENGTH: "what the line does to path length, in % (left is better)",
}
# Longer labels would leave no room for the figures.
MAX_LABEL = 40


def lines_figure(apart: TakenApart) -> Figure | None:
    """Lines from top to bottom, their contribution on x, the margin a band; None without figures.

    Kept ones are filled, those that contribute nothing measurable are open.
    """
    shown = [(one, one.ratio) for one in apart.effects if one.ratio is not None]
    if not shown:
        return None
    changes = [percent_of(ratio) for _, ratio in shown]
    bounds = [_bounds(one) for one, _ in shown]
    low, high = drawn_range(changes, [end for pair in bounds for end in pair if end is not None])
    figure = Figure()
    margin = percent_of(exp(apart.margin))
    ends = (-margin, 0.0) if not apart.metric.more_is_better else (0.0, margin)
    figure.add_vrect(
        x0=ends[0], x1=ends[1], fillcolor=BAND, line_width=0, layer="below", name="margin"
    )
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    colours = {RemovalState.MATTERS: GREEN, RemovalState.NO_EFFECT: GREY}
    figure.add_scatter(
        x=changes,
        y=list(range(len(shown))),
        mode="markers",
        marker={
            "color": [colours.get(one.state, BLUE) for one, _ in shown],
            "size": 10,
            "symbol": ["circle-open" if one.is_left_out else "circle" for one, _ in shown],
        },
        error_x=whiskers(
            [(ends[0], change, ends[1]) for change, ends in zip(changes, bounds, strict=True)]
        ),
        customdata=[plain(", ".join(one.names)) for one, _ in shown],
        hovertemplate="%{customdata}<br>%{x:+.1f} %<extra></extra>",
    )
    name_rows(figure, [plain(_label(one)) for one, _ in shown])
    figure.update_xaxes(title_text=TITLES[apart.metric], range=[low, high], zeroline=False)
    figure.update_layout(
        showlegend=False,
        margin={"l": 8, "r": 12, "t": 20, "b": 8},
        height=110 + 36 * max(len(shown), 3),
    )
    return figure


def _bounds(one: LinesEffect) -> tuple[float | None, float | None]:
    if one.interval is None:
        return None, None
    low, high = (percent_of(end) for end in (one.interval.low, one.interval.high))
    return low, high if isfinite(high) else None


def _label(one: LinesEffect) -> str:
    text = one.names[0] if len(one.names) == 1 else f"{one.names[0]} + {len(one.names) - 1}"
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"
