"""One run: results, telemetry, variables and outcome."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from advisor.charts.figure import charts_answer
from advisor.charts.telemetry import run_charts as charts_of_run
from advisor.charts.telemetry import telemetry_figures
from advisor.pages.runs.conditions import compare_variables, conditions_of, debt_of
from advisor.pages.runs.measures import measures_of
from advisor.responses import series_csv
from advisor.wording.hosts import fact_words
from benchmarks.models import Run
from tuning.results.series import slot_of


@require_GET
def run_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a run: its figures, its variables, and how it ended."""
    run = get_object_or_404(
        Run.objects.select_related(
            "host", "device", "server", "workload", "config", "retry_of"
        ).prefetch_related("retries"),
        pk=pk,
    )
    slot = slot_of(run)
    requested, others = compare_variables(run)
    context = {
        "run": run,
        "slot": slot,
        "measures": measures_of(run, run.workload.unit),
        "conditions": conditions_of(run),
        "unwatched": run.conditions.get("unwatched", []),
        "debt": debt_of(run),
        "requested": requested,
        "others": others,
        "charts": [
            {"key": key, "title": one.title, "unit": one.unit}
            for key, one in charts_of_run(run).items()
        ],
        "retries": run.retries.all(),
        "facts": fact_words(run.fingerprint),
    }
    return render(request, "runs/detail.html", context)


@require_GET
def run_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer the charts of a run."""
    run = get_object_or_404(Run.objects.only("pk"), pk=pk)
    return charts_answer(telemetry_figures(run))


@require_GET
def run_seconds(request: HttpRequest, pk: int) -> HttpResponse:
    """Send the seconds of a run as CSV."""
    return series_csv(get_object_or_404(Run, pk=pk), f"run-{pk}-seconds.csv")
