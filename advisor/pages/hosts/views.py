"""All hosts, the page of one, its datasets, and what it says about a path."""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

from django.db.models import F
from django.db.models.lookups import IsNull
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from advisor.access.callers import caller_of
from advisor.pages.hosts.context import host_view, summary
from advisor.pages.hosts.typed_paths import FIELDS, answer_of, answers_about
from advisor.pages.lists import Listing
from benchmarks.models import Host, Inspection
from tuning.creation.hosts import host_for, hosts_named
from tuning.errors import TuningError
from tuning.hosts.commands import waiting_text
from tuning.hosts.known import KnownHost, hosts, known_hosts
from tuning.studies.datasets import noted_datasets
from tuning.studies.waiting import mark_waiting

HOSTS = Listing(
    "host-list",
    "host",
    "hosts",
    ("name",),
    "Name of a host",
    per_page=24,
    before="Previous",
    after="Next",
)


@require_GET
def host_list(request: HttpRequest) -> HttpResponse:
    """Hosts by name, those in use first; where there is one, its page.

    With `?find=` those that have each of its words in their name.
    """
    in_use_first = hosts().order_by(IsNull(F("retired_at"), False), "name")
    shown = HOSTS.read(request.GET, in_use_first)
    known = known_hosts(shown.page.object_list)
    if shown.page.paginator.count == 1 and not shown.is_filtered:
        return render(request, "hosts/detail.html", _host_context(known[0], is_only=True))
    views = [host_view(one) for one in known]
    context = {"list": shown, "views": views, "summary": summary(views)}
    return render(request, "hosts/list.html", context)


@require_GET
def host_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One host: what it does, its queue, its devices with their answers."""
    return render(request, "hosts/detail.html", _context(pk))


@require_GET
def host_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx: the part of the host's page that changes while it is open.

    What the host has is included, to be swapped out of band, only if `seen` is not its stamp.
    """
    context = _context(pk)
    context["swaps_inventory"] = request.GET.get("seen") != str(context["stamp"])
    return render(request, "hosts/_live_answer.html", context)


def _context(pk: int) -> dict[str, Any]:
    return _host_context(known_hosts([get_object_or_404(hosts(), pk=pk)])[0])


def _host_context(known: KnownHost, *, is_only: bool = False) -> dict[str, Any]:
    """`stamp` changes when what the host has does."""
    mark_waiting(known.studies)
    stamp = crc32(json.dumps(known.host.inventory, sort_keys=True).encode())
    return {"view": host_view(known), "is_only": is_only, "stamp": stamp}


#: Requests that are shown, newest first.
SHOWN = 20


@require_GET
def host_datasets(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the datasets that the host noted last, and the state of requests to delete some."""
    host = get_object_or_404(Host, pk=pk)
    found = noted_datasets(host)
    rows = Inspection.objects.filter(host=host, subject=Inspection.Subject.DATASETS)
    asked = [(row, waiting_text(row)) for row in rows.order_by("-pk")[:SHOWN]]
    context = {
        "host": host,
        "datasets": found,
        "total_bytes": sum(one.dataset.bytes for one in found),
        "servers": set(host.servers.values_list("digest", flat=True)),
        "asked": asked,
        "waits": any(text for _, text in asked),
    }
    return render(request, "hosts/datasets.html", context)


@require_POST
def path_inspect(request: HttpRequest) -> HttpResponse:
    """Answer htmx with what the hosts of the form say about the path in one of its fields."""
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
