"""How the response times of each config are spread: a histogram and a cumulative distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from advisor.charts.axes import log_ticks
from advisor.charts.figure import Figure, lay_out
from advisor.charts.style import GREY, SeriesStyle, faded, plain, rounded
from benchmarks.counted import counted
from benchmarks.drivers.response_times import LatencyHistogram, merged


def latency_figures(
    runs: Mapping[str, Sequence[int]],
    known: Mapping[int, LatencyHistogram],
    styles: Mapping[str, SeriesStyle],
) -> dict[str, Figure]:
    """Draw "latency", the share of transactions by response time, and "cdf", its running sum.

    known: by the key of a run its response times, as far as they are stored. Nothing without data.
    """
    configs = []
    for name, keys in runs.items():
        found = [known[key] for key in keys if key in known]
        if (together := merged(found)) is not None:
            configs.append((plain(name), styles[name], len(found), together))
    if not configs:
        return {}
    figures = {"latency": Figure(), "cdf": Figure()}
    edges: list[float] = []
    for name, style, number, histogram in configs:
        title = f"{name}, {counted(number, 'run')}"
        x, total = histogram.edges_ms(), histogram.total
        edges += x
        # A bucket of twice the width has twice the transactions: shares per 10 % of the time.
        shares = [
            100 * count / total * (0.1 * low / (high - low))
            for count, low, high in zip(histogram.counts, x, x[1:], strict=False)
        ]
        sums = [100 * count / total for count in accumulate((0, *histogram.counts))]
        line = {"x": [rounded(edge) for edge in x], "name": name, "mode": "lines"}
        figures["latency"].add_scatter(
            **line,
            y=[rounded(share) for share in (*shares, 0.0)],
            line={**style.line, "width": 1.8, "shape": "hv"},
            fill="tozeroy" if len(configs) == 1 else None,
            fillcolor=faded(style.colour, 0.25),
            hovertemplate=f"{title}, {total:,} transactions<br>"
            "%{x:.3~g} ms: %{y:.2~f} %<extra></extra>",
        )
        figures["cdf"].add_scatter(
            **line,
            y=[rounded(share) for share in sums],
            line={**style.line, "width": 1.8},
            hovertemplate=f"{title}<br>%{{y:.2~f}} % within %{{x:.3~g}} ms<extra></extra>",
        )
    figures["cdf"].add_line_at(y=95, colour=GREY)
    place = {"xref": "x domain", "x": 0, "xanchor": "left", "y": 95, "yanchor": "bottom"}
    figures["cdf"].add_annotation("95 %", font={"size": 11}, **place)
    figures["latency"].update_axes("y", rangemode="tozero")
    figures["cdf"].update_axes("y", range=[0, 101])
    titles = {
        "latency": "transactions, % per 10 % of response time",
        "cdf": "transactions that took no longer, %",
    }
    for key, figure in figures.items():
        figure.update_axes("x", type="log", **log_ticks(edges))
        lay_out(figure, 340, x="response time of transactions, ms (logarithmic)", y=titles[key])
    return figures
