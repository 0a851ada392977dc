"""The address of a chart's data, opened in a browser: its figures as tables.

Without JavaScript no chart is drawn, and a link below its place leads there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

from advisor.charts.tables import chart_tables

_JSON, _PAGE = "application/json", "text/html"


def also_as_tables(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For a view whose answer is what `charts_json` makes."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        found = view(request, *args, **values)
        if found.status_code == 200 and request.get_preferred_type([_JSON, _PAGE]) == _PAGE:
            tables = chart_tables(json.loads(found.content)["charts"])
            context = {"tables": tables, "back": _back(request)}
            found = render(request, "charts/tables.html", context)
        patch_vary_headers(found, ("Accept",))
        return found

    return answer


def _back(request: HttpRequest) -> str:
    came_from = request.headers.get("Referer", "")
    is_here = url_has_allowed_host_and_scheme(came_from, allowed_hosts={request.get_host()})
    return came_from if is_here else ""
