"""Several runs over each other, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.charts.figure import Figure
from advisor.charts.latency import LEGEND
from advisor.charts.palette import BAND, series_style
from advisor.charts.text import plain
from advisor.charts.thinning import kept_places

FIGURES = {
    "new_orders": ("New-Orders", "New-Orders per second"),
    "p95_ms": ("ms (p95)", "p95 response time of New-Order, ms"),
    "cpu_busy_pct": ("% of all CPUs", "CPU of the host, user + sys, % of all CPUs"),
}


@dataclass(frozen=True)
class RunOverTime:
    """A run's seconds (negative: warm-up) and a value for each, None where nothing was counted."""

    name: str
    url: str
    seconds: Sequence[int]
    values: Sequence[float | None]


def over_time_figure(runs: Sequence[RunOverTime], figure_name: str = "new_orders") -> Figure:
    """A line per run over the seconds since its measurement began; `figure_name` of FIGURES."""
    word, title = FIGURES[figure_name]
    figure = Figure()
    for index, run in enumerate(runs):
        style = series_style(index)
        kept = kept_places(run.values)
        figure.add_scatter(
            x=[run.seconds[at] for at in kept],
            y=[_rounded(run.values[at]) for at in kept],
            name=plain(run.name),
            mode="lines",
            line={"color": style.colour, "dash": style.dash, "width": 1.5},
            customdata=[[plain(run.name), run.url]] * len(kept),
            hovertemplate=(
                f"{plain(run.name)}<br>second %{{x}}: %{{y:,.4~g}} {word}<extra></extra>"
            ),
        )
    first = min((second for run in runs for second in run.seconds), default=0)
    if first < 0:
        figure.add_vrect(x0=first, x1=0, fillcolor=BAND, line_width=0, layer="below")
    figure.update_xaxes(title_text="seconds since the start of the measurement", zeroline=False)
    figure.update_yaxes(title_text=title, rangemode="tozero")
    figure.update_layout(
        showlegend=True, legend=LEGEND, margin={"l": 8, "r": 8, "t": 48, "b": 8}, height=340
    )
    return figure


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
