"""The ratio of every candidate to the baseline with its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from advisor.charts.figure import Figure
from advisor.charts.palette import BAND, BLUE, GREEN, GREY, PURPLE, RED
from advisor.charts.rows import drawn_range, name_rows, percent_of, whiskers
from advisor.charts.text import plain
from tuning.results.boards import Board
from tuning.statistics.ranking import Metric

# Axis titles, with the good direction.
TITLES = {
    Metric.TPMP: "tpmP, change from the baseline in % (right is better)",
    Metric.P95: "p95, change from the baseline in % (left is better)",
    Metric.SERVER_PATH_LENGTH: "path length, change from the baseline in % (left is better)",
}


@dataclass(frozen=True)
class Effect:
    """Change from the baseline in percent; None is unknown. `is_bound`: an upper bound.

    `blocks`: how many it shares with the baseline, or pairs. Those of one `rank` are tied.
    """

    candidate: str
    change: float
    low: float | None
    high: float | None
    tone: str  # better, worse, unclear
    is_bound: bool = False
    blocks: int = 0
    rank: int | None = None


@dataclass(frozen=True)
class IntervalsSeries:
    """Best candidate first; `floor` in percent of the baseline, None if unknown."""

    metric: Metric
    baseline: str
    effects: list[Effect]
    confirmed: list[Effect]
    floor: float | None


def intervals_series(board: Board, metric: Metric = Metric.TPMP) -> IntervalsSeries:
    """Without the baseline, which is the line at zero; fresh pairs are for tpmP only."""
    judgement = board.judgement_by(metric)
    effects = []
    for line in judgement.ranked:
        ratio = line.ratio_to_baseline if line.at_most is None else line.at_most
        if line.candidate == board.baseline.name or ratio is None:
            continue
        interval = line.interval if line.at_most is None else None
        effects.append(
            Effect(
                candidate=line.candidate,
                change=percent_of(ratio),
                low=percent_of(interval.low) if interval else None,
                high=percent_of(interval.high) if interval else None,
                tone="better" if line.better else "worse" if line.worse else "unclear",
                is_bound=line.at_most is not None,
                blocks=line.blocks,
                rank=line.rank,
            )
        )
    confirmed = []
    for one in board.fresh_pairs if metric is Metric.TPMP else ():
        if one.found and one.found.ratio and one.found.interval:
            bounds = one.found.interval
            tone = "better" if bounds.low > 1 else "unclear"
            low, high = percent_of(bounds.low), percent_of(bounds.high)
            confirmed.append(
                Effect(
                    one.candidate.name,
                    percent_of(one.found.ratio),
                    low,
                    high,
                    tone,
                    blocks=len(one.pairs),
                )
            )
    floor = judgement.analysis.floor
    return IntervalsSeries(
        metric=metric,
        baseline=board.baseline.name,
        effects=effects,
        confirmed=confirmed,
        floor=None if floor is None else floor * 100,
    )


def intervals_figure(series: IntervalsSeries) -> Figure:
    """Candidates from top to bottom, change from the baseline on x, the noise floor as a band."""
    figure = Figure()
    low, high = _range(series)
    if series.floor is not None and series.floor < high - low:
        ends = 100 * series.floor / (100 + series.floor)
        figure.add_vrect(
            x0=-ends, x1=series.floor, fillcolor=BAND, line_width=0, layer="below", name="floor"
        )
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    positions = {effect.candidate: at for at, effect in enumerate(series.effects)}
    for first, last in tied_groups(series.effects):
        _bracket(figure, first, last)
    colours = {"better": GREEN, "worse": RED, "unclear": BLUE}
    for name, effects, lift, symbol, size in (
        ("in the blocks", series.effects, 0.0, "circle", 10),
        ("fresh pairs", series.confirmed, -0.25, "diamond", 11),
    ):
        shown = [effect for effect in effects if effect.candidate in positions]
        if not shown:
            continue
        tones = [colours[effect.tone] for effect in shown]
        figure.add_scatter(
            x=[effect.change for effect in shown],
            y=[positions[effect.candidate] + lift for effect in shown],
            name=name,
            mode="markers",
            marker={
                "color": tones if symbol == "circle" else PURPLE,
                "size": size,
                "symbol": [_symbol(effect, symbol) for effect in shown],
            },
            error_x=whiskers(
                [(effect.low, effect.change, effect.high) for effect in shown],
                GREY if symbol == "circle" else PURPLE,
            ),
            customdata=[[plain(effect.candidate), _bounds(effect)] for effect in shown],
            hovertemplate=f"%{{customdata[0]}}, {name}<br>%{{customdata[1]}}<extra></extra>",
        )
    name_rows(figure, [plain(name) for name in positions])
    figure.update_xaxes(title_text=TITLES[series.metric], range=[low, high], zeroline=False)
    figure.update_layout(
        showlegend=bool(series.confirmed),
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "right", "x": 1},
        margin={"l": 8, "r": 26, "t": 30, "b": 8},
        height=110 + 44 * max(len(positions), 3),
    )
    return figure


def tied_groups(effects: Sequence[Effect]) -> list[tuple[int, int]]:
    """First and last place of each group that shares its rank."""
    groups = []
    for rank, group in groupby(enumerate(effects), key=lambda pair: pair[1].rank):
        positions = [at for at, _ in group]
        if rank is not None and len(positions) > 1:
            groups.append((positions[0], positions[-1]))
    return groups


def _bracket(figure: Figure, first: int, last: int) -> None:
    """A bracket at the right edge beside the tied, with the word."""
    for x0, x1, y0, y1 in (
        (1.0, 1.0, first - 0.3, last + 0.3),
        (0.988, 1.0, first - 0.3, first - 0.3),
        (0.988, 1.0, last + 0.3, last + 0.3),
    ):
        line = {"color": GREY, "width": 1.5}
        figure.add_shape(
            type="line", xref="x domain", yref="y", x0=x0, x1=x1, y0=y0, y1=y1, line=line
        )
    figure.add_annotation(
        text="tied",
        xref="x domain",
        yref="y",
        x=1.0,
        y=(first + last) / 2,
        xanchor="left",
        textangle=90,
        showarrow=False,
        font={"size": 11},
    )


def _symbol(effect: Effect, symbol: str) -> str:
    """What the colour says, once more: better and worse differ in shape, the unclear is open."""
    if effect.is_bound:
        return "triangle-left-open"
    if symbol != "circle":
        return symbol
    return {"better": "circle", "worse": "x", "unclear": "circle-open"}[effect.tone]


def _bounds(effect: Effect) -> str:
    if effect.is_bound:
        return f"at most {effect.change:+.1f} %"
    if effect.low is None or effect.high is None:
        return f"{effect.change:+.1f} %, noise not known yet"
    bounds = f"95 % interval {effect.low:+.1f} to {effect.high:+.1f} %"
    return f"{effect.change:+.1f} %, {bounds}, n = {effect.blocks}"


def _range(series: IntervalsSeries) -> tuple[float, float]:
    shown = [*series.effects, *series.confirmed]
    ends = [bound for e in shown for bound in (e.low, e.high) if bound is not None]
    return drawn_range([effect.change for effect in shown], ends)
