"""The page of a study over several hosts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from advisor.pages.group.context import (
    group_for_page,
    group_word,
    live_context,
    results_context,
    results_of_group,
)
from advisor.shared_results import studies_to_show
from tuning.studies.glance import group_glances


@require_GET
def group_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The hosts side by side, then their devices."""
    group = group_for_page(pk)
    seen = group_glances(pk)
    studies = studies_to_show(pk)
    results = results_of_group(group, studies)
    context = live_context(group, studies, seen, results) | results_context(results)
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
    studies = studies_to_show(pk)
    context = live_context(group, studies, seen)
    if request.GET.get("seen") != context["stamp"]:
        context |= results_context(results_of_group(group, studies)) | {"swaps_results": True}
    return render(request, "groups/_live_answer.html", context)
