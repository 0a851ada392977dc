"""The order of a ranking's lines and which of them are shown, chosen by links and a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from django.http import QueryDict

from tuning.statistics.ranking import Ranked

MAX_TEXT = 100
T = TypeVar("T")
Figure = Callable[[Ranked], float | int | str | None]

# By the name of the column in an address: its figure, and whether the largest comes first.
COLUMNS: dict[str, tuple[Figure, bool]] = {
    "rank": (lambda line: line.rank, False),
    "name": (lambda line: line.candidate.casefold(), False),
    "tpmP": (lambda line: line.tpmP, True),
    "change": (lambda line: line.ratio_to_baseline, True),
    "p95_ms": (lambda line: line.p95_ms, False),
    "p99_ms": (lambda line: line.p99_ms, False),
    "max_ms": (lambda line: line.max_ms, False),
    "server_path": (lambda line: line.server_path_length, False),
    "host_path": (lambda line: line.host_path_length, False),
    "outcome": (lambda line: line.outcome, False),
    "runs": (lambda line: line.runs, True),
    "failed": (lambda line: line.failures, True),
}
RANK = "rank"


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
        """For a query string, without what is the default."""
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

    def applied(self, rows: Iterable[T], line_of: Callable[[T], Ranked]) -> list[T]:
        """The rows that are shown, in their order; those without a figure come last."""
        wanted = self.only.casefold()
        shown = [row for row in rows if wanted in line_of(row).candidate.casefold()]
        if self.is_by_rank:
            return shown
        figure, largest_first = COLUMNS[self.column]
        known = [row for row in shown if figure(line_of(row)) is not None]
        unknown: Sequence[T] = [row for row in shown if figure(line_of(row)) is None]

        def key(row: T) -> tuple[str, float]:
            value = figure(line_of(row))
            return (value, 0.0) if isinstance(value, str) else ("", float(value or 0))

        return [*sorted(known, key=key, reverse=largest_first != self.turned), *unknown]


def table_order(asked: QueryDict) -> TableOrder:
    """Read from a query string; an unknown column means the ranking's own order."""
    sort = asked.get("sort", "")
    column = sort.removeprefix("-")
    only = asked.get("only", "").strip()[:MAX_TEXT]
    if column not in COLUMNS:
        return TableOrder(only=only)
    return TableOrder(column, sort.startswith("-"), only)
