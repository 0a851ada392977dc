"""All hosts, and the page of one."""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

from django.db.models import F
from django.db.models.lookups import IsNull
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from advisor.pages.hosts.context import host_view, summary
from advisor.pages.lists import Listing
from tuning.hosts.known import KnownHost, hosts, known_hosts
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
