"""The user's devices side by side, after the whitepaper's tables and figures."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from advisor.charts.figure import charts_json
from advisor.pages.comparison.charts import comparison_figures
from advisor.pages.comparison.choice import ComparisonChoice, comparison_choice
from advisor.pages.comparison.context import comparison_context
from tuning.comparison.devices import compare
from tuning.comparison.run_sets import chosen_run_set, run_sets


@require_GET
def device_comparison(request: HttpRequest) -> HttpResponse:
    """Tables, charts and, when it is switched on, the published layer."""
    choice = comparison_choice(request.GET)
    return render(request, "comparison/detail.html", comparison_context(choice))


@require_GET
def device_comparison_charts(request: HttpRequest) -> HttpResponse:
    """The figures by key; none before something was measured."""
    choice = comparison_choice(request.GET)
    return HttpResponse(_charts(choice), content_type="application/json")


def _charts(choice: ComparisonChoice) -> bytes:
    run_set = chosen_run_set(run_sets(), choice.run_set)
    if run_set is None:
        return charts_json({})
    comparison = compare(run_set, choice.config)
    return charts_json(comparison_figures(comparison, choice.connections, choice.published))
