"""The golden datasets of a host."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from benchmarks.models import Host, Inspection
from tuning.hosts.jobs import waiting_text
from tuning.studies.datasets import noted_datasets

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
