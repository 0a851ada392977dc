"""What the buttons that change a row have in common: the row's page, with what came of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from benchmarks.errors import BenchmarkError
from tuning.errors import TuningError

Sent = dict[str, str]


def nothing(request: HttpRequest) -> Sent:
    """Of a change that nobody is noted for."""
    return {}


def by(request: HttpRequest) -> Sent:
    """Who changes it."""
    return {"by": request.user.get_username()}


def by_and_reason(request: HttpRequest) -> Sent:
    """Who pauses, drains or retires something, and why."""
    return by(request) | {"reason": request.POST.get("reason", "").strip()}


def changed(
    request: HttpRequest, page: str, pk: int, change: Callable[[], None], done: str, refused: str
) -> HttpResponse:
    """The row's page after the change, with `done`, or `refused` and the reason."""
    match = request.resolver_match
    view = (match and match.url_name) or ""  # for `focus_after`
    try:
        change()
    except (BenchmarkError, TuningError) as error:
        messages.warning(request, f"{refused}: {error}.", extra_tags=view)
    else:
        messages.info(request, done, extra_tags=view)
    return redirect(page, pk=pk)


def button(
    model: type[Model],
    page: str,
    refused: str,
    change: Callable[..., None],
    done: str,
    sends: Callable[[HttpRequest], Sent] = by,
) -> Callable[[HttpRequest, int], HttpResponse]:
    """The view of a button: `change` gets the row and what `sends` makes of the request.

    `{}` in `done` stands for the row.
    """

    @require_POST
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        row = get_object_or_404(model, pk=pk)
        made = partial(change, row, **sends(request))
        return changed(request, page, pk, made, done.format(row), refused)

    return view
