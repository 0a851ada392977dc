"""The page Compare: what a user chose side by side, and the user's devices side by side."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from advisor.charts.figure import charts_answer
from advisor.pages.compare.choice import (
    asked_sides,
    picked,
    query_of,
    studies_to_pick,
)
from advisor.pages.compare.context import (
    columns_of,
    differing_conditions,
    figure_lines,
    knob_rows,
    side_figures,
)
from advisor.pages.compare.device_charts import comparison_figures
from advisor.pages.compare.device_choice import comparison_choice
from advisor.pages.compare.device_tables import comparison_context
from tuning.comparison.devices import compare as compare_devices
from tuning.comparison.run_sets import chosen_run_set, run_sets
from tuning.comparison.side_by_side import lay_side_by_side
from tuning.comparison.sides import MAX_SIDES, find_sides


@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """The comparison named by `?side=`; what the form picks becomes part of the address."""
    if "add" in request.GET or "run" in request.GET:
        return redirect(f"{reverse('compare')}{query_of(picked(request.GET))}")
    found = find_sides(asked_sides(request.GET))
    context = {
        "missing": found.missing,
        "studies": studies_to_pick(found.sides),
        "max_sides": MAX_SIDES,
        "columns": columns_of(found.sides),
    }
    if found.sides:
        laid = lay_side_by_side(found.sides)
        context |= {
            "laid": laid,
            "differs": differing_conditions(laid),
            "lines": figure_lines(laid),
            "knob_rows": knob_rows(laid),
            "charts_url": reverse("compare-charts")
            + query_of([side.token for side in found.sides]),
        }
    return render(request, "compare/detail.html", context)


@require_GET
def compare_charts(request: HttpRequest) -> HttpResponse:
    """The charts of the sides by key; those without data are left out."""
    sides = tuple(asked_sides(request.GET))
    return charts_answer(side_figures(find_sides(sides).sides))


@require_GET
def device_comparison(request: HttpRequest) -> HttpResponse:
    """Show the devices after the whitepaper's tables and figures; `published` adds its own."""
    context = comparison_context(comparison_choice(request.GET))
    return render(request, "compare/devices.html", context)


@require_GET
def device_comparison_charts(request: HttpRequest) -> HttpResponse:
    """The figures by key; none before something was measured."""
    choice = comparison_choice(request.GET)
    run_set = chosen_run_set(run_sets(), choice.run_set)
    if run_set is None:
        return charts_answer({})
    found = compare_devices(run_set, choice.config)
    return charts_answer(comparison_figures(found, choice.connections, choice.published))
