"""Effects in percent with their intervals, a row each: of configs, of single lines, of claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp

from advisor.charts.axes import drawn_range, name_rows, percent_of, whiskers
from advisor.charts.figure import Figure, add_points, lay_out
from advisor.charts.style import BLUE, GREEN, GREY, PURPLE, RED, faded, plain, wrapped
from advisor.wording.formatting import confidence_text
from tuning.results.document import Ablation, Board, Standing, StudyDocument
from tuning.statistics.confirmation import RemovalState
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate
from tuning.study_templates.evaluation import FindingKind

_NAMES = {
    Metric.THROUGHPUT: "throughput",
    Metric.P95: "p95",
    Metric.SERVER_PATH_LENGTH: "path length",
}
# Characters of a line in a hover box and in a label; of the only line of a label.
_HOVER_WIDTH, _LABEL_WIDTH, _MAX_LABEL = 60, 24, 40
_HALF_ROW = 0.36


@dataclass(frozen=True)
class Row:
    """An effect in percent. at: its row from the top. low, high: None without a bound."""

    at: float
    change: float
    low: float | None
    high: float | None
    colour: str
    symbol: str
    hover: str


def intervals_figure(document: StudyDocument, board: Board, metric: Metric) -> Figure | None:
    """Draw each candidate's change from the baseline by a metric, best first.

    The noise floor is a band. Effects in fresh pairs are diamonds, which are known by the study's
    objective only. None if no candidate has an effect.
    """
    ranking = board.rankings[metric]
    standings = [
        one
        for one in ranking.standings
        if one.candidate_id != board.baseline_id and (one.estimate or one.at_most)
    ]
    if not standings:
        return None
    names = {
        one.candidate_id: plain(document.candidate[one.candidate_id].name) for one in standings
    }
    rows = [_standing(at, one, names[one.candidate_id]) for at, one in enumerate(standings)]
    places = {pk: at for at, pk in enumerate(names)}
    pairs = [
        _pairs(places[one.candidate_id], one.estimate, one.whole_pairs, names[one.candidate_id])
        for one in board.confirmations
        if metric == document.study.objective and one.estimate and one.candidate_id in places
    ]
    figure, (low, high) = Figure(), _range([*rows, *pairs])
    floor = None if ranking.noise_floor is None else ranking.noise_floor * 100
    if floor is not None and floor < high - low:
        _band(figure, -100 * floor / (100 + floor), floor)
    for first, last in tied_groups([one.rank for one in standings]):
        _bracket(figure, first, last)
    _draw(figure, rows, "in the blocks", GREY)
    if pairs:
        _draw(figure, pairs, "fresh pairs", PURPLE)
    title = f"{_NAMES[metric]}, change from the baseline in % ({_better(metric)} is better)"
    _finish(figure, list(names.values()), title, (low, high), row_height=44)
    figure.update(showlegend=bool(pairs), margin={"r": 26})
    return figure


def lines_figure(ablation: Ablation) -> Figure | None:
    """Draw what each line of a winner contributes; None without figures.

    The band is what may be lost. A line without a measurable effect is an open circle.
    """
    shown = [(one, one.estimate) for one in ablation.effects if one.estimate is not None]
    if not shown:
        return None
    colours = {RemovalState.MATTERS: GREEN, RemovalState.NO_EFFECT: GREY}
    rows = [
        _row(
            at,
            found,
            colours.get(RemovalState(one.state), BLUE),
            "circle-open" if one.is_left_out else "circle",
            f"{plain(', '.join(one.names))}<br>{percent_of(found.ratio):+.1f} %",
        )
        for at, (one, found) in enumerate(shown)
    ]
    figure, metric = Figure(), ablation.metric
    margin = percent_of(exp(ablation.margin))
    _band(figure, *((0.0, margin) if metric.more_is_better else (margin, 0.0)))
    _draw(figure, rows, "", GREY)
    labels = [_label(one.names) for one, _ in shown]
    title = f"what the line does to {_NAMES[metric]}, in % ({_better(metric)} is better)"
    _finish(figure, labels, title, _range(rows), row_height=36)
    return figure


def findings_figure(document: StudyDocument) -> Figure | None:
    """Draw what was measured of each claim of the template's source; None without ratios.

    The range in which a claim holds is green. Claims have the numbers that the page shows.
    """
    claimed_of = {at: one.ratio for at, one in enumerate(document.claims, 1)}
    found = [(one, one.estimate) for one in document.findings if one.estimate is not None]
    if not found:
        return None
    colours = {FindingKind.CONFIRMED: GREEN, FindingKind.CONTRADICTED: RED}
    rows = [
        _row(
            at,
            estimate,
            colours.get(one.kind, BLUE),
            "circle",
            wrapped(one.sentence, _HOVER_WIDTH),
        )
        for at, (one, estimate) in enumerate(found)
    ]
    ratios = [claimed_of[one.claim] for one, _ in found]
    claimed = [(ratio.above, ratio.below) for ratio in ratios]
    ends = [percent_of(end) for pair in claimed for end in pair if end is not None]
    low, high = _range(rows, ends)
    figure = Figure()
    for at, (first, last) in enumerate(claimed):
        _claimed(figure, at, first, last, (low, high))
    _draw(figure, rows, "", GREY)
    labels = [
        "<br>".join(filter(None, [f"Claim {one.claim}", wrapped(where, _LABEL_WIDTH)]))
        for one, _ in found
        for where in [_where(document, one.device_id, one.connections)]
    ]
    tallest = max(44, 4 + 17 * max(label.count("<br>") + 1 for label in labels))
    _finish(figure, labels, "measured change, %", (low, high), row_height=tallest)
    return figure


def tied_groups(ranks: Sequence[int | None]) -> list[tuple[int, int]]:
    """Return the first and last place of each group that shares its rank."""
    groups = []
    for rank, group in groupby(enumerate(ranks), key=lambda pair: pair[1]):
        places = [at for at, _ in group]
        if rank is not None and len(places) > 1:
            groups.append((places[0], places[-1]))
    return groups


def _row(at: float, found: Estimate, colour: str, symbol: str, hover: str) -> Row:
    low, high = (None if end is None else percent_of(end) for end in (found.low, found.high))
    return Row(at, percent_of(found.ratio), low, high, colour, symbol, hover)


def _standing(at: int, one: Standing, name: str) -> Row:
    """Say by shape what the colour says: worse is a cross, the unclear is open."""
    if one.at_most is not None or one.estimate is None:
        change = percent_of(one.at_most or 1.0)
        hover = f"{name}, in the blocks<br>at most {change:+.1f} %"
        return Row(at, change, None, None, BLUE, "triangle-left-open", hover)
    colour, symbol = BLUE, "circle-open"
    if one.better or one.worse:
        colour, symbol = (GREEN, "circle") if one.better else (RED, "x")
    hover = f"{name}, in the blocks<br>{_bounds(one.estimate, one.blocks)}"
    return _row(at, one.estimate, colour, symbol, hover)


def _pairs(at: int, found: Estimate, pairs: int, name: str) -> Row:
    hover = f"{name}, fresh pairs<br>{_bounds(found, pairs)}"
    return _row(at - 0.25, found, PURPLE, "diamond", hover)


def _bounds(found: Estimate, blocks: int) -> str:
    change = f"{percent_of(found.ratio):+.1f} %"
    if found.low is None:
        return f"{change}, noise not known yet"
    high = "more" if found.high is None else f"{percent_of(found.high):+.1f} %"
    interval = (
        f"{confidence_text(found.confidence)} interval {percent_of(found.low):+.1f} to {high}"
    )
    return f"{change}, {interval}, n = {blocks}"


def _range(rows: Sequence[Row], more: Sequence[float] = ()) -> tuple[float, float]:
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    return drawn_range([*(row.change for row in rows), *more], ends)


def _draw(figure: Figure, rows: Sequence[Row], name: str, colour: str) -> None:
    add_points(
        figure,
        [row.change for row in rows],
        [row.at for row in rows],
        [row.hover for row in rows],
        name=name or None,
        marker={
            "color": [row.colour for row in rows],
            "size": 10,
            "symbol": [row.symbol for row in rows],
        },
        error_x=whiskers([(row.low, row.change, row.high) for row in rows], colour),
    )


def _finish(
    figure: Figure,
    names: Sequence[str],
    title: str,
    ends: tuple[float, float],
    row_height: int,
) -> None:
    figure.add_line_at(x=0, colour=GREY, dash="solid")
    name_rows(figure, names)
    figure.update_axes("x", range=list(ends))
    lay_out(figure, 110 + row_height * max(len(names), 3), x=title, legend=False)


def _band(figure: Figure, low: float, high: float) -> None:
    figure.add_band(low, high)


def _claimed(
    figure: Figure, row: int, low: float | None, high: float | None, shown: tuple[float, float]
) -> None:
    """Shade a claimed range of the ratio; a known end is a line, an open one reaches the edge."""
    rows = {"y0": row - _HALF_ROW, "y1": row + _HALF_ROW}
    start, end = (None if bound is None else percent_of(bound) for bound in (low, high))
    figure.add_shape(
        "rect",
        x0=shown[0] if start is None else start,
        x1=shown[1] if end is None else end,
        **rows,
        fillcolor=faded(GREEN, 0.13),
        line={"width": 0},
        layer="below",
    )
    for bound in (start, end):
        if bound is not None:
            line = {"color": GREEN, "width": 2}
            figure.add_shape("line", x0=bound, x1=bound, **rows, line=line)


def _bracket(figure: Figure, first: int, last: int) -> None:
    """Draw a bracket with the word "tied" at the right edge."""
    for x0, y0, y1 in (
        (1.0, first - 0.3, last + 0.3),
        (0.988, first - 0.3, first - 0.3),
        (0.988, last + 0.3, last + 0.3),
    ):
        ends = {"x0": x0, "x1": 1.0, "y0": y0, "y1": y1, "xref": "x domain", "yref": "y"}
        figure.add_shape("line", line={"color": GREY, "width": 1.5}, **ends)
    figure.add_annotation(
        text="tied",
        **{"xref": "x domain", "yref": "y", "x": 1.0, "y": (first + last) / 2},
        xanchor="left",
        textangle=90,
        font={"size": 11},
    )


def _better(metric: Metric) -> str:
    return "right" if metric.more_is_better else "left"


def _label(names: Sequence[str]) -> str:
    text = names[0] if len(names) == 1 else f"{names[0]} + {len(names) - 1}"
    return plain(text if len(text) <= _MAX_LABEL else f"{text[: _MAX_LABEL - 1]}…")


def _where(document: StudyDocument, device: int | None, connections: int | None) -> str:
    """Name the place of a finding as far as the study has several."""
    several = len({load.connections for load in document.workloads}) > 1
    words = [document.short_names[device]] if device in document.named_devices and device else []
    words += [f"{connections} conn."] if several and connections is not None else []
    return ", ".join(words)
