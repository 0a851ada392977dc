"""All charts of a board, by the end of their key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from advisor.charts.blocks import blocks_figure, blocks_series
from advisor.charts.candidates import candidates_figure, candidates_series
from advisor.charts.drift import drift_figure, drift_series
from advisor.charts.figure import Figure
from advisor.charts.intervals import intervals_figure, intervals_series
from advisor.charts.latency import ConfigLatency, latency_figures
from advisor.charts.over_time import RunOverTime, over_time_figure
from advisor.charts.pareto import pareto_figure, pareto_series
from advisor.charts.prices import price_figures, price_series
from advisor.wording.addresses import run_url
from benchmarks.drivers.latency import merged
from benchmarks.models import Run
from tuning.results.boards import Board
from tuning.results.run_list import RunLine
from tuning.results.run_series import (
    MAX_CONFIGS,
    Seconds,
    latencies_of,
    middle_run,
    ok_runs,
    seconds_of,
    shown_candidates,
)
from tuning.results.slot_rows import RunRow
from tuning.statistics.ranking import Metric


def board_figures(
    board: Board, history: Iterable[RunLine], metric: Metric, p95_ms: float | None = None
) -> dict[str, Figure]:
    """The charts that have data; "" is the chart of single runs."""
    series = candidates_series(board)
    if not series.runs:
        return {}
    figures = {"": candidates_figure(series)}
    intervals = intervals_series(board, metric)
    if intervals.effects:
        figures["intervals"] = intervals_figure(intervals)
    points = pareto_series(board, p95_ms)
    if points.points:
        figures["pareto"] = pareto_figure(points)
    drift = drift_series(board, history)
    if drift.runs:
        figures["drift"] = drift_figure(drift)
    return figures


def run_figures(board: Board) -> dict[str, Figure]:
    """The charts of single runs and of what a New-Order costs, which are read when asked for.

    Of the baseline and the best others: how their response times are spread, the seconds of the
    run nearest to each median, and every run over the blocks.
    """
    names = shown_candidates(board, MAX_CONFIGS)
    runs = {name: found for name, found in ok_runs(board, names).items() if found}
    figures: dict[str, Figure] = {}
    figures |= latency_figures(config_latencies(runs))
    middle = {name: middle_run(found) for name, found in runs.items()}
    lines = runs_over_time(middle, seconds_of(run.pk for run in middle.values()))
    if lines:
        figures["over-time"] = over_time_figure(lines)
    if blocks := blocks_series(board, names):
        figures["blocks"] = blocks_figure(blocks)
    return figures | price_figures(price_series(board))


def config_latencies(runs: Mapping[str, Sequence[Run | RunRow]]) -> list[ConfigLatency]:
    """By config the response times of all its runs that have them stored."""
    found = latencies_of(run.pk for there in runs.values() for run in there)
    configs = []
    for name, there in runs.items():
        known = [found[run.pk] for run in there if run.pk in found]
        if (together := merged(known)) is not None:
            configs.append(ConfigLatency(name, together, len(known)))
    return configs


def runs_over_time(
    runs: Mapping[str, Run | RunRow],
    found: Mapping[int, Seconds],
    figure_name: str = "new_orders",
) -> list[RunOverTime]:
    """A line per run that still has its seconds, which `found` has by its id; `figure_name` of
    `over_time.FIGURES`.
    """
    return [
        RunOverTime(name, run_url(run.pk), there.second, getattr(there, figure_name))
        for name, run in runs.items()
        if (there := found.get(run.pk))
        and any(value is not None for value in getattr(there, figure_name))
    ]
