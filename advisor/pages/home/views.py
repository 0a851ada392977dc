"""The first page and the part of it that is asked for while it is open."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRefresh

from advisor.pages.home.context import home_context, jobs_context
from tuning.hosts.overview import study_counts


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The answers so far, what runs, what has ended, what went wrong; empty: how to begin."""
    return render(request, "home/home.html", home_context())


@require_GET
def home_live(request: HttpRequest) -> HttpResponse:
    """The response to htmx: what runs now. A study that has begun or ended is a new page."""
    stamp = study_counts().stamp
    if request.GET.get("seen", stamp) != stamp:
        return HttpResponseClientRefresh()
    return render(request, "home/_running.html", jobs_context(stamp))
