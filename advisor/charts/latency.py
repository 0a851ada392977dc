"""How the response times of each config are spread: a histogram and a cumulative distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from advisor.charts.axes import log_ticks
from advisor.charts.figure import Figure
from advisor.charts.style import GREY, faded, lay_out, plain, rounded, series_style
from benchmarks.counted import counted
from benchmarks.drivers.response_times import LatencyHistogram, merged


@dataclass(frozen=True)
class ConfigLatency:
    """The response times of a config's `runs` runs together."""

    name: str
    histogram: LatencyHistogram
    runs: int


def latency_figures(
    runs: Mapping[str, Sequence[int]], known: Mapping[int, LatencyHistogram]
) -> dict[str, Figure]:
    """Draw "latency" and "cdf" of the runs of each name; nothing without data.

    known: by the key of a run its response times, as far as they are stored.
    """
    configs = []
    for name, keys in runs.items():
        found = [known[key] for key in keys if key in known]
        if (together := merged(found)) is not None:
            configs.append(ConfigLatency(name, together, len(found)))
    if not configs:
        return {}
    return {"latency": latency_figure(configs), "cdf": distribution_figure(configs)}


def latency_figure(configs: Sequence[ConfigLatency]) -> Figure:
    """Draw steps: the share of New-Orders in each bucket over its time in ms."""
    figure = Figure()
    for index, one in enumerate(configs):
        style, found = series_style(index), one.histogram
        edges, total = found.edges_ms(), found.total
        # A bucket of twice the width has twice the New-Orders: shares per 10 % of the time.
        shares = [
            100 * count / total * (0.1 * low / (high - low))
            for count, low, high in zip(found.counts, edges, edges[1:], strict=False)
        ]
        figure.add_scatter(
            x=[rounded(edge) for edge in edges],
            y=[rounded(share) for share in (*shares, 0.0)],
            name=plain(one.name),
            mode="lines",
            line={**style.line, "width": 1.8, "shape": "hv"},
            fill="tozeroy" if len(configs) == 1 else None,
            fillcolor=faded(style.colour, 0.25),
            hovertemplate=(
                f"{plain(one.name)}, {counted(one.runs, 'run')}, "
                f"{total:,} New-Orders<br>%{{x:.3~g}} ms: %{{y:.2~f}} %<extra></extra>"
            ),
        )
    figure.update_yaxes(title_text="New-Orders, % per 10 % of response time", rangemode="tozero")
    return _laid_out(figure)


def distribution_figure(configs: Sequence[ConfigLatency]) -> Figure:
    """Draw the share of New-Orders that took no longer, over the time in ms."""
    figure = Figure()
    for index, one in enumerate(configs):
        style, found = series_style(index), one.histogram
        sums = accumulate((0, *found.counts))
        figure.add_scatter(
            x=[rounded(edge) for edge in found.edges_ms()],
            y=[rounded(100 * count / found.total) for count in sums],
            name=plain(one.name),
            mode="lines",
            line={**style.line, "width": 1.8},
            hovertemplate=(
                f"{plain(one.name)}, {counted(one.runs, 'run')}<br>"
                "%{y:.2~f} % within %{x:.3~g} ms<extra></extra>"
            ),
        )
    figure.add_hline(95, line={"color": GREY, "dash": "dot", "width": 1})
    figure.add_annotation(
        text="95 %",
        font_size=11,
        showarrow=False,
        **{"xref": "x domain", "x": 0, "xanchor": "left"},
        **{"yref": "y", "y": 95, "yanchor": "bottom"},
    )
    figure.update_yaxes(title_text="New-Orders that took no longer, %", range=[0, 101])
    return _laid_out(figure)


def _laid_out(figure: Figure) -> Figure:
    figure.update_xaxes(
        title_text="response time of New-Order, ms (logarithmic)",
        type="log",
        **log_ticks([value for trace in figure.data for value in trace["x"]]),
        zeroline=False,
    )
    return lay_out(figure, 340)
