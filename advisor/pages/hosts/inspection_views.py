"""Asks hosts about a path that is typed into a form."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from advisor.access.callers import caller_of
from advisor.pages.hosts.typed_paths import FIELDS, answer_of, answers_about
from benchmarks.models import Inspection
from tuning.creation.hosts import host_for, hosts_named
from tuning.errors import TuningError


@require_POST
def path_inspect(request: HttpRequest) -> HttpResponse:
    """For htmx: what the hosts of the form say about the path in one of its fields."""
    field = request.POST.get("field", "")
    if field not in FIELDS:
        text = f"field must be one of {', '.join(FIELDS)}."
        return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
    try:
        asked = list(hosts_named(request.POST.getlist("host")).order_by("name")) or [host_for()]
    except TuningError as error:
        return render(request, "hosts/_path_answers.html", {"trouble": str(error)})
    answers = answers_about(
        field,
        request.POST.get(field, ""),
        asked,
        lists=caller_of(request).is_administrator,
        user=request.user,
    )
    return render(request, "hosts/_path_answers.html", {"answers": answers})


@require_GET
def inspection_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx every second until the host has answered.

    A form that looks ahead asks again then: what it refused it may take now.
    """
    row = get_object_or_404(Inspection.objects.select_related("host"), pk=pk)
    answer = render(request, "hosts/_path_answer.html", {"one": answer_of(row)})
    if row.is_finished:
        answer["HX-Trigger"] = "path-answered"
    return answer
