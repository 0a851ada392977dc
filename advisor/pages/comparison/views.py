"""The user's devices side by side, after the whitepaper's tables and figures."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from advisor.charts.payload import charts_json
from advisor.pages.comparison.charts import comparison_figures
from advisor.pages.comparison.choice import ComparisonChoice, comparison_choice
from advisor.pages.comparison.context import comparison_context
from advisor.shared_results import SharedComparisons, shared_comparisons
from tuning.comparison.comparable_runs import chosen_run_set


@require_GET
def device_comparison(request: HttpRequest) -> HttpResponse:
    """Tables, charts and, when it is switched on, the published layer."""
    choice = comparison_choice(request.GET)
    return render(request, "comparison/detail.html", comparison_context(choice))


@require_GET
def device_comparison_charts(request: HttpRequest) -> HttpResponse:
    """The figures by key; none before something was measured."""
    choice = comparison_choice(request.GET)
    shared = shared_comparisons()
    charts = shared.made(("charts", choice), lambda: _charts(shared, choice))
    return HttpResponse(charts, content_type="application/json")


def _charts(shared: SharedComparisons, choice: ComparisonChoice) -> bytes:
    run_set = chosen_run_set(shared.run_sets, choice.run_set)
    if run_set is None:
        return charts_json({})
    comparison = shared.compare(run_set, choice.config)
    return charts_json(comparison_figures(comparison, choice.connections, choice.published))
