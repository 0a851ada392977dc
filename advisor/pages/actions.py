"""The addresses and the view of the buttons that the table of actions makes."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from benchmarks.errors import ExpectedError
from tuning.actions.action import Action, Actor, perform, read_fields
from tuning.actions.table import ACTIONS


@require_POST
def perform_action(request: HttpRequest, pk: int, *, action: Action) -> HttpResponse:
    """Perform the action, then show the row's page with what came of it."""
    row = get_object_or_404(action.subject.rows(), pk=pk)
    typed = {
        name: request.POST[name] for name in action.fields.model_fields if name in request.POST
    }
    actor = Actor(request.user.get_username(), request.user)
    try:
        done = perform(action, row, actor, read_fields(action, typed))
    except ExpectedError as error:
        messages.warning(request, f"{action.label}: {error}.", extra_tags=action.url_name)
    else:
        messages.info(request, done.sentence, extra_tags=action.url_name)
    return _page_of(action, row)


def action_urls() -> list[URLPattern]:
    """Return an address for each action of the table, with the action's name."""
    return [
        path(action.route, partial(perform_action, action=action), name=action.url_name)
        for action in ACTIONS
    ]


def _page_of(action: Action, row: Any) -> HttpResponse:
    match action.subject.name:
        case "dataset":
            return redirect("host-datasets", pk=row.pk)
        case "profile":
            return redirect("profile-list")
        case "probe":
            return redirect("device-detail", pk=row.device_id)
        case subject:
            return redirect(f"{subject}-detail", pk=row.pk)
