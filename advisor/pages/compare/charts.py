"""The charts of a comparison: each side is a line, in the order of the columns."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.charts.figure import Figure
from advisor.charts.latency import latency_figures
from advisor.charts.runs import OVER_TIME, cost_figures, over_time_figure
from advisor.pages.compare.context import columns_of
from tuning.comparison.sides import Side
from tuning.results.series import latencies_of, seconds_of

_MAX_NAME = 40


def side_figures(sides: Sequence[Side]) -> dict[str, Figure]:
    """By key; those for which nothing is stored are left out."""
    names = {f"{one.letter}: {_short(one.side.name)}": one.side for one in columns_of(sides)}
    middle = {name: side.middle.pk for name, side in names.items()}
    runs = {name: [run.pk for run in side.runs] for name, side in names.items()}
    seconds = seconds_of(middle.values())
    over_time = {field: over_time_figure(middle, seconds, field) for field in OVER_TIME}
    figures = {field: figure for field, figure in over_time.items() if figure is not None}
    figures |= latency_figures(runs, latencies_of(pk for keys in runs.values() for pk in keys))
    costs = [(name, len(side.runs), side.price) for name, side in names.items()]
    return figures | cost_figures(costs)


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
