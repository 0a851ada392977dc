"""What a New-Order costs with each config: cycles of user and system code, bytes written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from advisor.charts.figure import Figure
from advisor.charts.latency import LEGEND
from advisor.charts.palette import BLUE, GREEN, ORANGE, faded
from advisor.charts.rows import name_rows
from advisor.charts.text import plain
from benchmarks.models import Run, RunState
from tuning.results.boards import Board
from tuning.results.slot_rows import RunRow


@dataclass(frozen=True)
class ConfigPrice:
    """Medians over `runs`: 10^6 cycles of the whole host and kB written per New-Order."""

    name: str
    runs: int
    user_megacycles: float | None
    sys_megacycles: float | None
    written_kb: float | None


def price_series(board: Board) -> list[ConfigPrice]:
    """Of each candidate of the ranking with a successful run, best first."""
    found = []
    for line in board.judgement.ranked:
        runs = [
            slot.run
            for slot in board.slots
            if slot.candidate.name == line.candidate and slot.run.state == RunState.OK
        ]
        if runs:
            found.append(price_of(line.candidate, runs))
    return found


def price_of(name: str, runs: Sequence[Run | RunRow]) -> ConfigPrice:
    """The medians of these runs; None where none of them knows."""
    halves = [half for run in runs if (half := _halves(run)) is not None]
    written = [
        run.bytes_written_per_new_order / 1e3
        for run in runs
        if run.bytes_written_per_new_order is not None
    ]
    return ConfigPrice(
        name,
        len(runs),
        median(user for user, _ in halves) if halves else None,
        median(system for _, system in halves) if halves else None,
        median(written) if written else None,
    )


def _halves(run: Run | RunRow) -> tuple[float, float] | None:
    """The host's path length, divided as its CPU time is; 10^6 cycles per New-Order."""
    whole = run.host_path_length
    # Columns that follow from the usage figures, which mypy does not see.
    user, system = (getattr(run, name) for name in ("cpu_user_pct", "cpu_sys_pct"))
    if whole is None or user is None or system is None or user + system <= 0:
        return None
    share = user / (user + system)
    return whole / 1e6 * share, whole / 1e6 * (1 - share)


def price_figures(prices: Sequence[ConfigPrice]) -> dict[str, Figure]:
    """ "path" and "bytes", each only if something is known."""
    figures = {}
    if any(one.user_megacycles is not None for one in prices):
        figures["path"] = path_figure(prices)
    if any(one.written_kb is not None for one in prices):
        figures["bytes"] = bytes_figure(prices)
    return figures


def path_figure(prices: Sequence[ConfigPrice]) -> Figure:
    """Configs from top to bottom, cycles on x, user and system stacked."""
    figure = Figure()
    for name, field, colour, pattern in (
        ("user", "user_megacycles", BLUE, ""),
        ("system", "sys_megacycles", ORANGE, "/"),
    ):
        _bars(figure, prices, name, field, colour, pattern, "Mcycles")
    figure.update_layout(barmode="stack")
    title = "host path length, Mcycles per New-Order (less is better)"
    return _laid_out(figure, prices, title, has_legend=True)


def bytes_figure(prices: Sequence[ConfigPrice]) -> Figure:
    """Configs from top to bottom, kB per New-Order on x."""
    figure = Figure()
    _bars(figure, prices, "written", "written_kb", GREEN, "", "kB")
    title = "written per New-Order, kB (less is better)"
    return _laid_out(figure, prices, title, has_legend=False)


def _bars(
    figure: Figure,
    prices: Sequence[ConfigPrice],
    name: str,
    field: str,
    colour: str,
    pattern: str,
    unit: str,
) -> None:
    figure.add_bar(
        orientation="h",
        x=[getattr(one, field) for one in prices],
        y=list(range(len(prices))),
        name=name,
        marker={
            "color": faded(colour, 0.55),
            "line": {"color": colour, "width": 1},
            "pattern": {"shape": pattern, "fgcolor": colour, "size": 6},
        },
        customdata=[[plain(one.name), one.runs] for one in prices],
        hovertemplate=(
            f"%{{customdata[0]}}<br>{name}: %{{x:.4~g}} {unit} per New-Order, "
            "median of %{customdata[1]}<extra></extra>"
        ),
    )


def _laid_out(
    figure: Figure, prices: Sequence[ConfigPrice], title: str, *, has_legend: bool
) -> Figure:
    name_rows(figure, [plain(one.name) for one in prices])
    figure.update_xaxes(title_text=title, rangemode="tozero", zeroline=False)
    figure.update_layout(
        showlegend=has_legend,
        legend={**LEGEND, "traceorder": "normal"},
        bargap=0.35,
        margin={"l": 8, "r": 12, "t": 36 if has_legend else 16, "b": 8},
        height=110 + 30 * max(len(prices), 3),
    )
    return figure
