"""A recommendation as a file: my.cnf, SQL, rollback, diff or JSON; shown or downloaded."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_http_methods

from advisor.pages.export.recommendation import RecommendationCard, recommendation_card, study_url
from advisor.responses import download
from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.export.formats import Exported, ExportRequest
from tuning.models import Recommendation, Study
from tuning.results.study_result import StudyResult

# Value of `action`: without it the file is shown.
DOWNLOAD = "download"


@require_http_methods(["GET", "POST"])
def study_export(request: HttpRequest, pk: int, recommendation: int) -> HttpResponse:
    """The form; on POST the file below it or as a download, or the errors beside the fields."""
    result, found = _found(pk, recommendation)
    view = recommendation_card(result, found, request, with_answers=request.method == "POST")
    if request.method == "GET":
        return _page(request, view)
    exported = None
    if view.form.is_valid():
        try:
            wanted = view.form.export_request()
            exported = view.files.export(found.pk, wanted, study_url=study_url(found, request))
        except TuningError as error:
            view.form.add_refusal(error)
    if exported is not None and request.POST.get("action") == DOWNLOAD:
        return download(exported.file_name, exported.content_type, exported.data)
    return _page(request, view, exported)


@require_GET
def my_cnf(request: HttpRequest, pk: int, recommendation: int) -> HttpResponse:
    """The recommended my.cnf; below D0 only with `?acknowledge=D1`, otherwise the export page."""
    result, found = _found(pk, recommendation)
    view = recommendation_card(result, found, request)
    acknowledged = request.GET.get("acknowledge", "")
    try:
        wanted = ExportRequest(
            acknowledged=Durability(acknowledged or Durability.D0),
            as_measured=request.GET.get("as_measured") == "1",
            keeps_lines=request.GET.get("lines") == "all",
        )
        exported = view.files.export(found.pk, wanted, study_url=study_url(found, request))
    except (TuningError, ValueError):
        return _page(request, view, status=409)
    return download(exported.file_name, exported.content_type, exported.data)


def _found(pk: int, recommendation: int) -> tuple[StudyResult, Recommendation]:
    """The study's state with one of its recommendations, or 404."""
    result = StudyResult(get_object_or_404(Study.objects.select_related("server"), pk=pk))
    found = [one for one in result.recommendations if one.pk == recommendation]
    if not found:
        raise Http404
    return result, found[0]


def _page(
    request: HttpRequest,
    view: RecommendationCard,
    exported: Exported | None = None,
    status: int | None = None,
) -> HttpResponse:
    context = {"view": view, "exported": exported, "study": view.recommendation.study}
    # htmx takes the panel out of the page, and ignores a response with an error status.
    is_fine = not view.form.errors or request.htmx  # type: ignore[attr-defined]
    status = status or (200 if is_fine else 400)
    return render(request, "recommendations/export.html", context, status=status)
