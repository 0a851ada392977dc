"""The order of a ranking's lines and which of them are shown, chosen by links and a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from tuning.results.document import BoardRow, Standing

MAX_TEXT = 100
Line = tuple[BoardRow, Standing]
Figure = Callable[[BoardRow, Standing], float | str | None]

# By the name of the column in an address: its figure, and whether the largest comes first.
COLUMNS: dict[str, tuple[Figure, bool]] = {
    "rank": (lambda _, place: place.rank, False),
    "name": (lambda *_: "", False),
    "throughput": (lambda row, _: row.figures.throughput, True),
    "change": (lambda _, place: place.estimate.ratio if place.estimate else None, True),
    "p95_ms": (lambda row, _: row.figures.p95_ms, False),
    "p99_ms": (lambda row, _: row.figures.p99_ms, False),
    "max_ms": (lambda row, _: row.figures.max_ms, False),
    "server_path": (lambda row, _: row.figures.server_path_length, False),
    "outcome": (lambda row, _: row.outcome, False),
    "runs": (lambda row, _: row.runs, True),
}
RANK, NAME = "rank", "name"


@dataclass(frozen=True)
class TableOrder:
    """`column` is a key of COLUMNS; `turned` is against its usual direction; `only` a part of the
    names that are shown.
    """

    column: str = RANK
    turned: bool = False
    only: str = ""

    @property
    def is_by_rank(self) -> bool:
        """Whether the lines are in the order of the ranking, in which tied ones stand together."""
        return self.column == RANK and not self.turned

    @property
    def values(self) -> dict[str, str]:
        """The parameters of a query string; defaults are left out."""
        sort = f"{'-' if self.turned else ''}{self.column}"
        asked = {} if self.is_by_rank else {"sort": sort}
        return asked | ({"only": self.only} if self.only else {})

    def link(self, column: str, also: dict[str, str]) -> str:
        """The query string that sorts by the column, or turns it round if that is done already."""
        turned = column == self.column and not self.turned
        values = also | TableOrder(column, turned, self.only).values
        return urlencode(values)

    def aria(self, column: str) -> str:
        """The value of `aria-sort`."""
        if column != self.column:
            return "none"
        return "descending" if COLUMNS[column][1] != self.turned else "ascending"

    def applied(self, lines: Iterable[Line], name_of: Callable[[Line], str]) -> list[Line]:
        """The lines that are shown, in their order; those without a figure come last."""
        wanted = self.only.casefold()
        shown = [line for line in lines if wanted in name_of(line).casefold()]
        if self.is_by_rank:
            return shown
        figure, largest_first = COLUMNS[self.column]

        def value(line: Line) -> float | str | None:
            return name_of(line).casefold() if self.column == NAME else figure(*line)

        def key(line: Line) -> tuple[str, float]:
            known = value(line)
            return (known, 0.0) if isinstance(known, str) else ("", float(known or 0))

        with_figure = [line for line in shown if value(line) is not None]
        without = [line for line in shown if value(line) is None]
        return [*sorted(with_figure, key=key, reverse=largest_first != self.turned), *without]


def table_order(asked: QueryDict) -> TableOrder:
    """Read from a query string; an unknown column means the ranking's own order."""
    sort = asked.get("sort", "")
    column = sort.removeprefix("-")
    only = asked.get("only", "").strip()[:MAX_TEXT]
    if column not in COLUMNS:
        return TableOrder(only=only)
    return TableOrder(column, sort.startswith("-"), only)
