"""A dashboard whose version is not that of the database says so, and touches no rows."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from advisor.responses import error_body
from benchmarks.jobs.versions import difference, tables_differ

logger = logging.getLogger(__name__)

#: They say themselves what is the matter.
SERVED_NEVERTHELESS = ("/healthz", "/readyz")
#: The last findings: why nothing can be answered, and remarks.
_FOUND = {"stops": "", "warns": ""}


def look() -> None:
    """Compare this code with the database. Raises Error."""
    why = difference()
    found = {"stops": why and tables_differ(), "warns": why}
    if found != _FOUND and any(found.values()):
        logger.error("%s", found["stops"] or found["warns"])
    _FOUND.update(found)


def warning(_: HttpRequest) -> dict[str, str]:
    """The warning on all pages that this process and the database differ in version."""
    return {"version_warning": _FOUND["warns"]}


class VersionGuard:
    """Middleware: answers 503 with the reason as long as the tables are of another version."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not (why := _FOUND["stops"]) or request.path in SERVED_NEVERTHELESS:
            return self._answer(request)
        if request.path.startswith("/api/"):
            body = error_body("version_differs", why)
            return JsonResponse(body, status=503, headers={"Retry-After": "10"})
        text = f"The advisor cannot work: {why}.\n"
        return HttpResponse(
            text, status=503, content_type="text/plain", headers={"Retry-After": "10"}
        )
