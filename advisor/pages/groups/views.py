"""The page of a study over several hosts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from advisor.pages.groups.context import (
    group_for_page,
    group_mark,
    live_context,
    results_context,
    studies_of_group,
)


@require_GET
def group_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The hosts side by side, then their devices."""
    group, mark = group_for_page(pk), group_mark(pk)
    studies = studies_of_group(pk)
    context = live_context(group, studies, mark) | results_context(studies)
    return render(request, "groups/detail.html", context)


@require_GET
def group_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx every two seconds; with the results unless they have not changed.

    Nothing as long as nothing has changed.
    """
    mark = group_mark(pk)
    if request.GET.get("mark") == mark:
        return HttpResponse(status=204)
    studies = studies_of_group(pk)
    context = live_context(group_for_page(pk), studies, mark)
    if request.GET.get("revisions") != context["revisions"]:
        context |= results_context(studies) | {"swaps_results": True}
    return render(request, "groups/_live_answer.html", context)
