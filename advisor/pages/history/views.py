"""The history of a device's baseline, and its charts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from advisor.charts.payload import charts_answer
from advisor.pages.history.charts import history_figures
from advisor.pages.history.context import history_context
from benchmarks.models import Device
from tuning.comparison.baseline_history import chosen_history


@require_GET
def device_history(request: HttpRequest, pk: int) -> HttpResponse:
    """`?line=` names a baseline with a load; without it, the one with most studies."""
    device = get_object_or_404(Device.objects.select_related("host"), pk=pk)
    context = history_context(device, request.GET.get("line", ""))
    return render(request, "history/detail.html", context)


@require_GET
def device_history_charts(request: HttpRequest, pk: int) -> HttpResponse:
    device = get_object_or_404(Device, pk=pk)
    _, history = chosen_history(device, request.GET.get("line", ""))
    return charts_answer({} if history is None else history_figures(history))
