"""Single runs of several configs over each other, and what a transaction costs with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from advisor.charts.axes import name_rows
from advisor.charts.figure import Figure, lay_out, run_url
from advisor.charts.latency import latency_figures
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import BLUE, GREEN, ORANGE, SeriesStyle, faded, plain, styles_of
from tuning.results.document import Board, Price, StudyDocument
from tuning.results.series import Seconds, latencies_of, middle_run, seconds_of

#: Configs over each other in one chart: more cannot be told apart.
MAX_CONFIGS = 6
#: By field of Seconds: the unit, and the title of the axis.
OVER_TIME = {
    "completed": ("per second", "transactions per second"),
    "p95_ms": ("ms (p95)", "p95 response time of transactions, ms"),
    "cpu_busy_pct": ("% of all CPUs", "CPU of the host, user + sys, % of all CPUs"),
}
# Charts of costs: title, and of each bar its name, field of Price, unit, colour and pattern.
_COSTS = {
    "path": (
        "host path length, Mcycles per transaction (less is better)",
        (
            ("user", "user_megacycles", "Mcycles", BLUE, ""),
            ("system", "sys_megacycles", "Mcycles", ORANGE, "/"),
        ),
    ),
    "bytes": (
        "written per transaction, kB (less is better)",
        (("written", "written_kb", "kB", GREEN, ""),),
    ),
}


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
    names = {row.candidate_id: document.candidate[row.candidate_id].name for row in board.rows}
    runs: dict[str, dict[int, float]] = {}
    for pk in compared_candidates(board):
        for run in document.ranked_runs(board):
            if run.candidate_id == pk:
                runs.setdefault(names[pk], {})[run.id] = run.figures.throughput or 0.0
    keys = {name: list(there) for name, there in runs.items()}
    middle = {name: middle_run(there) for name, there in runs.items()}
    styles = dict(zip(keys, styles_of(list(keys)), strict=True))
    known = latencies_of(key for there in keys.values() for key in there)
    figures = latency_figures(keys, known, styles)
    over_time = over_time_figure(middle, seconds_of(middle.values()), "completed", styles)
    if over_time is not None:
        figures["over-time"] = over_time
    costs = [(names[row.candidate_id], row.runs, row.price) for row in board.rows if row.runs]
    return figures | cost_figures(costs)


def over_time_figure(
    runs: Mapping[str, int],
    known: Mapping[int, Seconds],
    field: str,
    styles: Mapping[str, SeriesStyle],
) -> Figure | None:
    """Draw a line per run that still has its seconds; None without any. field: of OVER_TIME."""
    lines: list[Line] = []
    for name, key in runs.items():
        values = getattr(known[key], field) if key in known else []
        if any(value is not None for value in values):
            style = styles[name]
            line = Line(name, style.colour, style.dash, known[key].second, values, run_url(key))
            lines.append(line)
    return seconds_figure(lines, *OVER_TIME[field]) if lines else None


def cost_figures(costs: Sequence[tuple[str, int, Price]]) -> dict[str, Figure]:
    """Draw "path" and "bytes", each only if something is known.

    costs: of each config its name, the number of its runs, and the medians over them.
    """
    figures = {}
    rows = [plain(name) for name, _, _ in costs]
    for key, (title, bars) in _COSTS.items():
        figure = Figure()
        for name, field, unit, colour, pattern in bars:
            values = [getattr(price, field) for _, _, price in costs]
            if all(value is None for value in values):
                continue
            figure.add_bar(
                orientation="h",
                x=values,
                y=list(range(len(rows))),
                name=name,
                marker={
                    "color": faded(colour, 0.55),
                    "line": {"color": colour, "width": 1},
                    "pattern": {"shape": pattern, "fgcolor": colour, "size": 6},
                },
                customdata=[[row, runs] for row, (_, runs, _) in zip(rows, costs, strict=True)],
                hovertemplate=f"%{{customdata[0]}}<br>{name}: %{{x:.4~g}} {unit} per transaction, "
                "median of %{customdata[1]}<extra></extra>",
            )
        if figure.data:
            name_rows(figure, rows)
            figure.update_axes("x", rangemode="tozero")
            figure.update(barmode="stack", bargap=0.35, legend={"traceorder": "normal"})
            height = 110 + 30 * max(len(rows), 3)
            figures[key] = lay_out(figure, height, x=title, legend=len(figure.data) > 1)
    return figures
