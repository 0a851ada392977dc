"""The golden datasets of a host, and asking it to delete some."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from benchmarks.errors import BenchmarkError
from benchmarks.models import Host, Inspection
from tuning.errors import TuningError
from tuning.studies.datasets import noted_datasets
from tuning.studies.inspecting import waiting_text
from tuning.studies.tidying import ask_to_delete, ask_to_prune

#: Requests that are shown, newest first.
SHOWN = 20


@require_GET
def host_datasets(request: HttpRequest, pk: int) -> HttpResponse:
    """What the host noted last, and what became of the requests to delete some."""
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
def dataset_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks the host to delete the dataset `name`."""
    return _asked(request, pk, partial(ask_to_delete, key=request.POST.get("name", "")))


@require_POST
def dataset_prune(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks the host to delete what its policy lets go."""
    return _asked(request, pk, ask_to_prune)


def _asked(request: HttpRequest, pk: int, ask: Callable[..., Inspection]) -> HttpResponse:
    host = get_object_or_404(Host, pk=pk)
    try:
        row = ask(host, user=request.user)
    except (BenchmarkError, TuningError) as error:
        messages.warning(request, f"Nothing is deleted: {error}.")
    else:
        messages.info(request, f"Deletion requested: {waiting_text(row)}.")
    return redirect("host-datasets", pk=pk)
