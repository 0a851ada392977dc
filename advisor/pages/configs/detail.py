"""One config: what it sets, and how it did wherever it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from advisor.charts.figure import charts_answer
from advisor.charts.over_months import DrawnPoint, months_figure
from advisor.wording.spaces import knob_text
from benchmarks.counted import counted
from benchmarks.drivers.workloads import TPCC
from benchmarks.models import Config, Device
from tuning.comparison.devices import names_on_hosts
from tuning.comparison.measured import MAX_STUDIES_OF_CONFIG, ConfigResult, config_results
from tuning.results.document import WorkloadFacts

# The chart is below those that are open.
_OPEN_RESULTS = 20


@require_GET
def config_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a config: its variables, and its results in all studies."""
    config = get_object_or_404(Config, pk=pk)
    results = config_results(config)
    names = _device_names(results)
    context = {
        "config": config,
        "knobs": [(name, knob_text(name, value)) for name, value in sorted(config.knobs.items())],
        "results": results,
        "is_cut": len({one.study.pk for one in results}) == MAX_STUDIES_OF_CONFIG,
        "rows": _rows(results[:_OPEN_RESULTS], names),
        "older": _rows(results[_OPEN_RESULTS:], names),
        "older_count": len(results) - _OPEN_RESULTS,
        "names": list(dict.fromkeys(one.candidate.name for one in results)),
        "devices": len(names),
    }
    return render(request, "configs/detail.html", context)


@require_GET
def config_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer the chart of a config over months."""
    results = config_results(get_object_or_404(Config, pk=pk))
    names = _device_names(results)
    series: dict[str, list[DrawnPoint]] = {}
    for one in reversed(results):
        if one.last is not None:
            name = f"{names[one.board.device_id]}, {counted(one.connections, 'connection')}"
            kind = one.document.workload[one.board.workload_id].kind
            name += "" if kind == TPCC else f", {kind}"
            series.setdefault(name, []).append(_point(one, one.last))
    figure = months_figure(
        list(series.items()), "throughput, transactions per minute", "last run, UTC"
    )
    return charts_answer({"history": figure} if figure is not None else {})


def _point(one: ConfigResult, at: datetime) -> DrawnPoint:
    figure = one.row.figures.throughput or 0.0
    unit = one.document.unit_on(one.board)
    texts = f"{one.study.name}, {counted(one.row.runs, 'run')}", f"{figure:,.0f} {unit}"
    return DrawnPoint(at, figure, texts, reverse("study-detail", args=[one.study.pk]))


def _rows(
    results: Sequence[ConfigResult], names: Mapping[int, str]
) -> list[tuple[ConfigResult, str, WorkloadFacts]]:
    """Return each result with the name of its device and its workload."""
    return [
        (one, names[one.board.device_id], one.document.workload[one.board.workload_id])
        for one in results
    ]


def _device_names(results: Sequence[ConfigResult]) -> dict[int, str]:
    devices = Device.objects.filter(pk__in={one.board.device_id for one in results})
    hosts = {one.study.host_id: one.study.host for one in results}
    return names_on_hosts(devices, hosts.values())
