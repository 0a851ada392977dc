"""A comparison as its page shows it, and its charts: each side is a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.charts.figure import Figure as Chart
from advisor.charts.latency import latency_figures
from advisor.charts.runs import OVER_TIME, cost_figures, over_time_figure
from advisor.charts.style import styles_of
from advisor.pages.compare.choice import query_of
from advisor.pages.runs.measures import FIGURES, TERM_OF, Format
from advisor.wording.formatting import shortened
from advisor.wording.hosts import compared_memory
from advisor.wording.spaces import knob_text
from tuning.comparison.side_by_side import Figure, SideBySide
from tuning.comparison.sides import Side
from tuning.results.series import latencies_of, seconds_of

_MAX_NAME = 40


@dataclass(frozen=True)
class Column:
    """A side, the letter it has where its name is too long, and the link without it."""

    letter: str
    side: Side
    without: str
    first: str


@dataclass(frozen=True)
class Cell:
    """A figure as text; interval: "" where there is none."""

    value: str
    interval: str
    runs: int
    figure: Figure


@dataclass(frozen=True)
class FigureLine:
    name: str
    unit: str
    term: str
    cells: list[Cell | None]


def columns_of(sides: Sequence[Side]) -> list[Column]:
    """Return a column for each side, with the links that move or remove it."""
    tokens = [side.token for side in sides]
    found = []
    for index, side in enumerate(sides):
        others = [token for token in tokens if token != side.token]
        first = query_of([side.token, *others]) if index else ""
        found.append(Column("ABCDEFGHIJKLMNOP"[index], side, query_of(others), first))
    return found


def figure_lines(laid: SideBySide) -> list[FigureLine]:
    """Return a line for each figure, with a cell for each side."""
    found = []
    for name, figures in laid.figures.items():
        title, form, unit = FIGURES[name]
        cells = [_cell(one, form) if one is not None else None for one in figures]
        found.append(FigureLine(title, unit, TERM_OF.get(name, ""), cells))
    return found


def differing_conditions(laid: SideBySide) -> list[tuple[str, list[str]]]:
    """Each condition that is not the same everywhere, with the text of every side."""
    return [
        (name, [compared_memory(text) for text in texts] if name == "memory" else texts)
        for name, texts in laid.differs
    ]


def _cell(figure: Figure, form: Format) -> Cell:
    return Cell(form(figure.median), _range(figure.interval, form), figure.runs, figure)


def _range(bounds: tuple[float, float] | None, form: Format) -> str:
    return " to ".join(map(form, bounds or ()))


def knob_rows(laid: SideBySide) -> list[tuple[str, list[tuple[str | None, bool]]]]:
    """The knobs that differ: each one's name, then for each side its value and whether the side
    sets it.
    """
    return [
        (
            knob.name,
            [
                (None if value is None else knob_text(knob.name, value), is_set)
                for value, is_set in zip(knob.values, knob.is_set, strict=True)
            ],
        )
        for knob in laid.knobs
    ]


def side_figures(sides: Sequence[Side]) -> dict[str, Chart]:
    """Return the charts by key; those for which nothing is stored are left out."""
    names = {
        f"{one.letter}: {shortened(one.side.name, _MAX_NAME)}": one.side
        for one in columns_of(sides)
    }
    middle = {name: side.middle.pk for name, side in names.items()}
    runs = {name: [run.pk for run in side.runs] for name, side in names.items()}
    styles = dict(zip(names, styles_of([one.name for one in names.values()]), strict=True))
    seconds = seconds_of(middle.values())
    over_time = {field: over_time_figure(middle, seconds, field, styles) for field in OVER_TIME}
    figures = {field: figure for field, figure in over_time.items() if figure is not None}
    latencies = latencies_of(pk for keys in runs.values() for pk in keys)
    figures |= latency_figures(runs, latencies, styles)
    costs = [(name, len(side.runs), side.price) for name, side in names.items()]
    return figures | cost_figures(costs)
