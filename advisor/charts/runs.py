"""Single runs of several configs over each other, and what a New-Order costs with each config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.charts.axes import name_rows
from advisor.charts.figure import Figure
from advisor.charts.latency import latency_figures
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import BLUE, GREEN, ORANGE, faded, lay_out, plain, series_style
from advisor.wording.addresses import run_url
from tuning.results.document import Board, StudyDocument
from tuning.results.series import Seconds, latencies_of, middle_run, seconds_of

#: Configs over each other in one chart: more cannot be told apart.
MAX_CONFIGS = 6
#: By field of Seconds: the unit, and the title of the axis.
OVER_TIME = {
    "new_orders": ("per second", "New-Orders per second"),
    "p95_ms": ("ms (p95)", "p95 response time of New-Order, ms"),
    "cpu_busy_pct": ("% of all CPUs", "CPU of the host, user + sys, % of all CPUs"),
}


@dataclass(frozen=True)
class Cost:
    """Medians over `runs`: 10^6 cycles of the whole host and kB written per New-Order."""

    name: str
    runs: int
    user_megacycles: float | None
    sys_megacycles: float | None
    written_kb: float | None


def compared_candidates(board: Board, most: int = MAX_CONFIGS) -> list[int]:
    """Return the baseline and the best others that have a successful run, best first."""
    there = [row.candidate_id for row in board.rows if row.runs]
    others = [pk for pk in there if pk != board.baseline_id][: most - 1]
    return [pk for pk in there if pk in others or pk == board.baseline_id]


def run_figures(document: StudyDocument, board: Board) -> dict[str, Figure]:
    """Return the charts of a board's single runs, which are read from the database.

    They show the baseline and the best others: response times, the seconds of the run nearest to
    each median, and costs.
    """
    runs = {
        document.candidate[pk].name: [
            run for run in document.ranked_runs(board) if run.candidate_id == pk
        ]
        for pk in compared_candidates(board)
    }
    runs = {name: there for name, there in runs.items() if there}
    keys = {name: [run.id for run in there] for name, there in runs.items()}
    middle = {
        name: middle_run({run.id: run.figures.throughput or 0.0 for run in there})
        for name, there in runs.items()
    }
    costs = [
        Cost(
            name=document.candidate[row.candidate_id].name,
            runs=row.runs,
            user_megacycles=row.user_megacycles,
            sys_megacycles=row.sys_megacycles,
            written_kb=row.written_kb,
        )
        for row in board.rows
        if row.runs
    ]
    figures = latency_figures(keys, latencies_of(key for there in keys.values() for key in there))
    over_time = over_time_figure(middle, seconds_of(middle.values()), "new_orders")
    if over_time is not None:
        figures["over-time"] = over_time
    return figures | cost_figures(costs)


def over_time_figure(
    runs: Mapping[str, int], known: Mapping[int, Seconds], field: str
) -> Figure | None:
    """Draw a line per run that still has its seconds; None without any. field: of OVER_TIME."""
    lines: list[Line] = []
    for name, key in runs.items():
        values = getattr(known[key], field) if key in known else []
        if any(value is not None for value in values):
            style = series_style(len(lines))
            line = Line(name, style.colour, style.dash, known[key].second, values, run_url(key))
            lines.append(line)
    return seconds_figure(lines, *OVER_TIME[field]) if lines else None


def cost_figures(costs: Sequence[Cost]) -> dict[str, Figure]:
    """Draw "path" and "bytes", each only if something is known."""
    figures = {}
    if any(one.user_megacycles is not None for one in costs):
        path = Figure()
        user = [one.user_megacycles for one in costs]
        system = [one.sys_megacycles for one in costs]
        _bars(path, costs, user, ("user", "Mcycles", BLUE, ""))
        _bars(path, costs, system, ("system", "Mcycles", ORANGE, "/"))
        path.update_layout(barmode="stack")
        title = "host path length, Mcycles per New-Order (less is better)"
        figures["path"] = _named(path, costs, title)
    if any(one.written_kb is not None for one in costs):
        written = Figure()
        _bars(written, costs, [one.written_kb for one in costs], ("written", "kB", GREEN, ""))
        title = "written per New-Order, kB (less is better)"
        figures["bytes"] = _named(written, costs, title)
    return figures


def _bars(
    figure: Figure,
    costs: Sequence[Cost],
    values: Sequence[float | None],
    look: tuple[str, str, str, str],
) -> None:
    """Draw a bar per config; look: name, unit, colour, pattern."""
    name, unit, colour, pattern = look
    figure.add_bar(
        orientation="h",
        x=values,
        y=list(range(len(costs))),
        name=name,
        marker={
            "color": faded(colour, 0.55),
            "line": {"color": colour, "width": 1},
            "pattern": {"shape": pattern, "fgcolor": colour, "size": 6},
        },
        customdata=[[plain(one.name), one.runs] for one in costs],
        hovertemplate=f"%{{customdata[0]}}<br>{name}: %{{x:.4~g}} {unit} per New-Order, "
        "median of %{customdata[1]}<extra></extra>",
    )


def _named(figure: Figure, costs: Sequence[Cost], title: str) -> Figure:
    name_rows(figure, [plain(one.name) for one in costs])
    figure.update_xaxes(title_text=title, rangemode="tozero", zeroline=False)
    figure.update_layout(bargap=0.35)
    lay_out(figure, 110 + 30 * max(len(costs), 3), legend=len(figure.data) > 1)
    figure.update_layout(legend={"traceorder": "normal"})
    return figure
