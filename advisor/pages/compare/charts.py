"""The charts of a comparison: each side is a line, in the order of the columns."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.charts.boards import config_latencies, runs_over_time
from advisor.charts.figure import Figure
from advisor.charts.latency import latency_figures
from advisor.charts.over_time import FIGURES, over_time_figure
from advisor.charts.prices import price_figures, price_of
from advisor.pages.compare.context import columns_of
from tuning.comparison.sides import Side
from tuning.results.run_series import seconds_of

_MAX_NAME = 40


def side_figures(sides: Sequence[Side]) -> dict[str, Figure]:
    """By key; those for which nothing is stored are left out."""
    names = {f"{one.letter}: {_short(one.side.name)}": one.side for one in columns_of(sides)}
    figures: dict[str, Figure] = {}
    middle = {name: side.middle for name, side in names.items()}
    seconds = seconds_of(run.pk for run in middle.values())
    for figure_name in FIGURES:
        if lines := runs_over_time(middle, seconds, figure_name):
            figures[figure_name] = over_time_figure(lines, figure_name)
    figures |= latency_figures(config_latencies({name: s.runs for name, s in names.items()}))
    prices = [price_of(name, side.runs) for name, side in names.items()]
    return figures | price_figures(prices)


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
