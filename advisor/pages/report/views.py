"""A study as a report of at most four sheets: to be printed or saved as PDF by the browser."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from advisor.pages.report.context import report_context
from advisor.shared_results import shared_result, study_to_show


@require_GET
def study_report(request: HttpRequest, pk: int) -> HttpResponse:
    """Question, verdict, ranking, three charts, conditions, how to repeat it, my.cnf."""
    result = shared_result(study_to_show(pk)).result
    return render(request, "report/detail.html", report_context(result, request))
