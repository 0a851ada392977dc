"""Whether this process serves, and whether what it needs is there. For anybody: a word each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from advisor.processes.broker import redis_answers
from benchmarks.jobs.versions import tables_differ

OK, FAILED = "ok", "failed"
#: Seconds for which an answer holds.
KEPT_S = 1.0
PARTS = ("database", "migrations", "redis")

#: The last answer and its time; empty before the first.
_LAST: dict[str, Any] = {}
#: Held while somebody looks. A database that hangs is asked once, however many requests come.
_LOOKING = threading.Lock()


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers, whatever else is broken."""
    return JsonResponse({"status": OK})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if pages and API can work; 503 names what cannot."""
    is_old = not _LAST or time.monotonic() - _LAST["at"] >= KEPT_S
    if is_old and _LOOKING.acquire(blocking=False):
        try:
            _LAST.update(found=_look(), at=time.monotonic())
        finally:
            _LOOKING.release()
    found: dict[str, str] = _LAST.get("found") or dict.fromkeys(PARTS, FAILED)
    if set(found.values()) == {OK}:
        return JsonResponse({"status": OK, **found})
    return JsonResponse({"status": FAILED, **found}, status=503, headers={"Retry-After": "10"})


def forget() -> None:
    """The next request looks again."""
    _LAST.clear()


def _look() -> dict[str, str]:
    # Each question to a database that is away takes the time that one waits for a connection.
    answers = _holds(_database_answers)
    found = {
        "database": answers,
        "migrations": answers and _holds(lambda: not tables_differ()),
        "redis": _holds(redis_answers),
    }
    return {name: OK if holds else FAILED for name, holds in found.items()}


def _holds(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Error:
        return False


def _database_answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone())
