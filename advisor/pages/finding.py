"""The filter of a list that finds rows by words (`templates/_find.html`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

#: From so many rows on a list has a filter.
MIN_FILTERED = 10
# Letters that are looked for, as many as the form takes. SQLite takes less than 1000 words.
_MAX_LETTERS = 200

ModelT = TypeVar("ModelT", bound=Model)


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
