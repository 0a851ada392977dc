"""A config over the studies that measured it: a point for each, a series per device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from advisor.charts.figure import Figure
from advisor.charts.latency import LEGEND
from advisor.charts.palette import series_style
from advisor.charts.text import plain
from advisor.wording.addresses import study_url
from benchmarks.counted import counted
from tuning.comparison.config_history import ConfigResult


def history_figure(results: Sequence[ConfigResult], names: Mapping[int, str]) -> Figure:
    """The end of the last run on x, the median tpmP on y; a click opens the study."""
    figure = Figure()
    series: dict[tuple[int, int], list[ConfigResult]] = {}
    for one in sorted(results, key=lambda one: one.study.pk):
        if one.last is not None:
            series.setdefault((one.device.pk, one.workload.connections), []).append(one)
    for index, ((device, connections), there) in enumerate(series.items()):
        style = series_style(index)
        name = plain(f"{names[device]}, {counted(connections, 'connection')}")
        figure.add_scatter(
            x=[one.last for one in there],
            y=[round(one.tpmP, 1) for one in there],
            name=name,
            mode="lines+markers",
            line={"color": style.colour, "dash": style.dash, "width": 1},
            marker={"color": style.colour, "symbol": style.symbol, "size": 9},
            customdata=[
                [f"{plain(one.study.name)}, {counted(one.runs, 'run')}", study_url(one.study.pk)]
                for one in there
            ],
            hovertemplate=(
                f"{name}<br>%{{customdata[0]}}<br>%{{y:,.0f}} tpmP, %{{x|%Y-%m-%d}}<extra></extra>"
            ),
        )
    figure.update_xaxes(title_text="last run, UTC", zeroline=False)
    figure.update_yaxes(title_text="tpmP, New-Orders per minute", rangemode="tozero")
    figure.update_layout(
        showlegend=True, legend=LEGEND, margin={"l": 8, "r": 8, "t": 48, "b": 8}, height=340
    )
    return figure
