"""What the buttons that change a row have in common: the row's page, with what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from benchmarks.errors import BenchmarkError
from tuning.errors import TuningError


class ByAndReason(TypedDict):
    by: str
    reason: str


def by_and_reason(request: HttpRequest) -> ByAndReason:
    """Who pauses, drains or retires something, and why."""
    reason = request.POST.get("reason", "").strip()
    return {"by": request.user.get_username(), "reason": reason}


def changed(
    request: HttpRequest, page: str, pk: int, change: Callable[[], None], done: str, refused: str
) -> HttpResponse:
    """The row's page after the change, with `done`, or `refused` and the reason."""
    try:
        change()
    except (BenchmarkError, TuningError) as error:
        messages.warning(request, f"{refused}: {error}.")
    else:
        messages.info(request, done)
    return redirect(page, pk=pk)
