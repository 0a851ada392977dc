"""Lists that are answered page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from ninja import Field, Schema

MAX_PAGE = 200
Item = TypeVar("Item")


class PageQuery(Schema):
    page: int = Field(1, ge=1, le=1_000_000, description="Counted from 1.")
    page_size: int = Field(50, ge=1, le=MAX_PAGE)


class Page(Schema, Generic[Item]):
    """One page of a list."""

    count: int = Field(description="Number of rows on all pages.")
    results: list[Item]


def page_of(
    rows: QuerySet[Any], query: PageQuery, show: Callable[[list[Any]], Any] = list
) -> dict[str, Any]:
    """Return the requested page of ordered rows; `show` makes the results of its rows."""
    first = (query.page - 1) * query.page_size
    page = list(rows[first : first + query.page_size])
    return {"count": rows.count(), "results": show(page)}


def without_bulk(host: str, *candidates: str) -> list[str]:
    """Return columns to be left out of rows that only name their host and candidates.

    They are thousands of characters of JSON, which would be read for each row.
    """
    of_hosts, bulky = ("inventory", "datasets"), ("notes", "lines", "checks")
    return [
        *(f"{host}__{name}" for name in of_hosts),
        *(f"{one}__{name}" for one in candidates for name in bulky),
    ]
