"""The page of a study over several hosts, and what changes all its studies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from advisor.pages.changes import by_and_reason, changed
from advisor.pages.group.context import (
    group_for_page,
    group_word,
    live_context,
    results_context,
)
from tuning.models import StudyGroup
from tuning.studies.glance import group_glances
from tuning.studies.groups import cancel_group, pause_group, resume_group


@require_GET
def group_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The hosts side by side, then their devices."""
    group = group_for_page(pk)
    context = live_context(group, group_glances(pk)) | results_context(group)
    return render(request, "groups/detail.html", context)


@require_GET
def group_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx every two seconds; with the results unless `seen` is their stamp.

    Nothing as long as nothing has changed.
    """
    seen = group_glances(pk)
    if request.GET.get("glance") == group_word(seen):
        return HttpResponse(status=204)
    group = group_for_page(pk)
    context = live_context(group, seen)
    if request.GET.get("seen") != context["stamp"]:
        context |= results_context(group) | {"swaps_results": True}
    return render(request, "groups/_live_answer.html", context)


@require_POST
def group_pause(request: HttpRequest, pk: int) -> HttpResponse:
    pause = partial(pause_group, **by_and_reason(request))
    return _changed(request, pk, pause, "paused", "Paused. The current runs are finished first.")


@require_POST
def group_resume(request: HttpRequest, pk: int) -> HttpResponse:
    done = "Resumed. Each continues as soon as its host is free."
    return _changed(
        request, pk, partial(resume_group, by=request.user.get_username()), "resumed", done
    )


@require_POST
def group_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    done = "Cancelling: the current runs stop within seconds."
    return _changed(
        request, pk, partial(cancel_group, by=request.user.get_username()), "cancelled", done
    )


def _changed(
    request: HttpRequest, pk: int, change: Callable[[StudyGroup], None], word: str, done: str
) -> HttpResponse:
    """The group's page after the change, with `done` or the reason why it was refused."""
    group = get_object_or_404(StudyGroup, pk=pk)
    refused = f"No study was {word}"
    return changed(request, "group-detail", pk, partial(change, group), done, refused)
