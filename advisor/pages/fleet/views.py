"""All hosts, the page of one, and what an administrator changes there."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from zlib import crc32

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from advisor.pages.changes import by_and_reason, changed
from advisor.pages.fleet.context import host_view, summary
from benchmarks.models import Host
from tuning.results.known_hosts import KnownHost, hosts, known_hosts
from tuning.studies.draining import drain_host, undrain_host
from tuning.studies.renaming import rename_host
from tuning.studies.retiring import retire_host, unretire_host

HOSTS_PER_PAGE = 50


@require_GET
def host_list(request: HttpRequest) -> HttpResponse:
    """All hosts by name; where there is one, its page."""
    page = Paginator(hosts(), HOSTS_PER_PAGE).get_page(request.GET.get("page"))
    known = known_hosts(page.object_list)
    if page.paginator.count == 1:
        return render(request, "hosts/detail.html", _host_context(known[0], is_only=True))
    context = {
        "page": page,
        "views": [host_view(one) for one in known],
        "summary": summary([one.state for one in known]),
    }
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


@require_POST
def host_drain(request: HttpRequest, pk: int) -> HttpResponse:
    drain = partial(drain_host, **by_and_reason(request))
    done = "Drained: the current job is finished first, and the queue waits."
    return _changed(request, pk, drain, "drained", done)


@require_POST
def host_undrain(request: HttpRequest, pk: int) -> HttpResponse:
    return _changed(request, pk, undrain_host, "undrained", "It takes work again.")


@require_POST
def host_retire(request: HttpRequest, pk: int) -> HttpResponse:
    retire = partial(retire_host, **by_and_reason(request))
    return _changed(request, pk, retire, "retired", "Retired: its studies have ended.")


@require_POST
def host_unretire(request: HttpRequest, pk: int) -> HttpResponse:
    return _changed(request, pk, unretire_host, "taken back", "It takes work again.")


@require_POST
def host_rename(request: HttpRequest, pk: int) -> HttpResponse:
    name = request.POST.get("name", "").strip()
    rename = partial(rename_host, name=name)
    done = f"It is called {name} now: start its worker with ADVISOR_HOST_NAME={name}."
    return _changed(request, pk, rename, "renamed", done)


def _context(pk: int) -> dict[str, Any]:
    return _host_context(known_hosts([get_object_or_404(hosts(), pk=pk)])[0])


def _host_context(known: KnownHost, *, is_only: bool = False) -> dict[str, Any]:
    """`stamp` changes when what the host has does."""
    stamp = crc32(json.dumps(known.host.inventory, sort_keys=True).encode())
    return {"view": host_view(known), "is_only": is_only, "stamp": stamp}


def _changed(
    request: HttpRequest, pk: int, change: Callable[[Host], None], word: str, done: str
) -> HttpResponse:
    """The host's page after the change, with `done` or the reason why it was refused."""
    host = get_object_or_404(Host, pk=pk)
    refused = f"The host was not {word}"
    return changed(request, "host-detail", pk, partial(change, host), f"{host}: {done}", refused)
