"""Pages that list rows: a filter by words, pages, and what `templates/list.html` says of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

#: From so many rows on a list has a filter.
MIN_FILTERED = 10
# Letters that are looked for, as many as the form takes. SQLite takes less than 1000 words.
_MAX_LETTERS = 200

ModelT = TypeVar("ModelT", bound=Model)


def read_id(text: str) -> int | None:
    """Return the id in a query string; None for a text that is no number.

    The database finds no row for a number that is too large for its column.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def text_asked(asked: QueryDict, name: str = "find") -> str:
    """Return the value of a filter's field; "" for nothing."""
    # PostgreSQL takes no NUL, not even to look for it.
    return asked.get(name, "").replace("\0", " ").strip()[:_MAX_LETTERS]


def with_words(rows: QuerySet[ModelT], text: str, columns: Sequence[str]) -> QuerySet[ModelT]:
    """Keep the rows with every word of the text in one of the columns."""
    for word in text.split():
        there = Q()
        for column in columns:
            there |= Q(**{f"{column}__icontains": word})
        rows = rows.filter(there)
    return rows


@dataclass(frozen=True)
class ListPage:
    """One page of a list.

    kept: other filters of the address, by name; "" for none. is_long: there are more rows than
    the page and its neighbours show.
    """

    listing: Listing
    page: Page[Any]
    find: str
    kept: dict[str, str]
    is_long: bool

    def __iter__(self) -> Iterator[Any]:
        return iter(self.page)

    @property
    def is_filtered(self) -> bool:
        return bool(self.find or any(self.kept.values()))

    @property
    def has_filter(self) -> bool:
        count = self.page.paginator.count
        return self.is_filtered or self.is_long or count >= MIN_FILTERED

    @property
    def count_text(self) -> str:
        """How many rows there are, such as "12 hosts found"."""
        count = self.page.paginator.count
        noun = self.listing.noun if count == 1 else self.listing.nouns
        return f"{count} {noun}{' found' if self.is_filtered else ''}"


@dataclass(frozen=True)
class Listing:
    """A list page. columns: where the words of the filter are looked for.

    placeholder: the same in words. before, after: the labels of the links to other pages.
    """

    url_name: str
    noun: str
    nouns: str
    columns: tuple[str, ...]
    placeholder: str
    per_page: int = 50
    before: str = "Newer"
    after: str = "Older"

    @property
    def title(self) -> str:
        return self.nouns.capitalize()

    def read(
        self, asked: QueryDict, rows: QuerySet[Any], *, is_long: bool = False, **kept: str
    ) -> ListPage:
        """Return the page of the rows that the address asks for."""
        find = text_asked(asked)
        found = with_words(rows, find, self.columns)
        page = Paginator(found, self.per_page).get_page(asked.get("page"))
        return ListPage(self, page, find, kept, is_long)
