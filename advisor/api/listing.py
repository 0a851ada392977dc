"""Lists: their pages, by number or by cursor, and the host that they are limited to."""

from __future__ import annotations

from base64 import b64decode
from typing import Any
from urllib.parse import parse_qs

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination, PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField, Serializer

from advisor.api.serializers.shown import all_shown
from advisor.ids import MAX_ID
from benchmarks.models import Host
from tuning.studies.hosts import hosts_named

MAX_PAGE = 200
CURSOR = "cursor"
_COUNTED = {"type": "integer", "minimum": 1}
PAGES = [
    OpenApiParameter("page", _COUNTED, description="Counted from 1."),
    OpenApiParameter(
        "page_size", {**_COUNTED, "maximum": MAX_PAGE}, description="At most 200; default 50."
    ),
    OpenApiParameter(
        CURSOR,
        str,
        description="Empty for the first page; next and previous then have cursors. Rows that "
        "are added meanwhile neither repeat nor hide others. Takes the place of page.",
    ),
]
OF_HOST = OpenApiParameter("host", str, description="Name of a host: only what is on it.")


class _Cursors(CursorPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = MAX_PAGE


class Pages(PageNumberPagination):
    """Pages of rows in the order of a column, by default the id.

    A request with `cursor` gets pages that begin where the last ended, others numbered ones. There
    are cursors only for a column without equal values: `is_unique`.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = MAX_PAGE

    def __init__(self, key: str = "-pk", *, is_unique: bool = True) -> None:
        self._key = key
        self._is_unique = is_unique
        self._cursors: _Cursors | None = None
        self._count = 0

    def rows(self, queryset: QuerySet[Any], request: Request) -> list[Any]:
        """The rows of the requested page.

        Raises NotFound for a page that is not there, ValidationError for a wrong number.
        """
        for name, most in (("page", MAX_ID), ("page_size", MAX_PAGE)):
            if name in request.query_params:
                _check_number(name, request.query_params[name], most)
        if CURSOR not in request.query_params:
            ordered = queryset.order_by(self._key, *(() if self._is_unique else ("-pk",)))
            return list(self.paginate_queryset(ordered, request) or ())
        if "page" in request.query_params:
            raise ValidationError({"page": ["Give either page or cursor."]})
        if not self._is_unique:
            raise ValidationError({"cursor": ["Not in this order: use pages."]})
        _check_cursor(request.query_params[CURSOR])
        self._cursors = _Cursors()
        self._cursors.ordering = (self._key,)
        self._count = queryset.count()
        try:
            found = self._cursors.paginate_queryset(queryset, request)
        except ValueError:  # a cursor with a place that no row can have
            raise NotFound("Invalid cursor") from None
        return list(found or ())

    def listed(
        self, queryset: QuerySet[Any], request: Request, kind: type[Serializer[Any]]
    ) -> Response:
        """The requested page as serializers of that kind show its rows. Raises like `rows`."""
        return self.answer(all_shown(kind, self.rows(queryset, request)))

    def answer(self, data: Any) -> Response:
        """The page with its neighbours."""
        if self._cursors is None:
            return self.get_paginated_response(data)
        return Response(
            {
                "count": self._count,
                "next": self._cursors.get_next_link(),
                "previous": self._cursors.get_previous_link(),
                "results": data,
            }
        )


def _check_number(name: str, text: str, most: int) -> None:
    # The length first: Python itself refuses to read thousands of digits.
    try:
        IntegerField(min_value=1, max_value=most).run_validation(text)
    except ValidationError as error:
        raise ValidationError({name: error.detail}) from None


def _check_cursor(text: str) -> None:
    """The paginator itself takes half of what is no cursor for the first page's."""
    try:
        is_one = not text or bool(parse_qs(b64decode(text, validate=True).decode("ascii")))
    except ValueError:
        is_one = False
    if not is_one:
        raise NotFound("Invalid cursor")


def without_bulk(host: str, *candidates: str) -> list[str]:
    """Columns to be left out of rows that only name their host and candidates.

    They are thousands of characters of JSON, which would be read for each row.
    """
    of_hosts, bulky = ("inventory", "datasets"), ("notes", "lines", "checks")
    return [
        *(f"{host}__{name}" for name in of_hosts),
        *(f"{one}__{name}" for one in candidates for name in bulky),
    ]


def on_host(rows: QuerySet[Any], request: Request) -> QuerySet[Any]:
    """The rows of the host that `?host=` names, else all. Raises like `named_host`."""
    host = named_host(request)
    return rows if host is None else rows.filter(host=host)


def named_host(request: Request) -> Host | None:
    """The host that `?host=` names, if any. Raises ValidationError for one that does not exist."""
    name = request.query_params.get("host")
    if name is None:
        return None
    host = hosts_named([name]).first()
    if host is None:
        raise ValidationError({"host": ["There is no such host."]})
    return host
