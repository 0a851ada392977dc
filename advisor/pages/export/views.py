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
from tuning.models import Study
from tuning.stored_documents import document_of

# Value of `action`: without it the file is shown.
DOWNLOAD = "download"


@require_http_methods(["GET", "POST"])
def study_export(request: HttpRequest, pk: int, recommendation: int) -> HttpResponse:
    """The form; on POST the file below it or as a download, or the errors beside the fields."""
    study, view = _found(request, pk, recommendation, with_answers=request.method == "POST")
    if request.method == "GET":
        return _page(request, study, view)
    exported = None
    if view.form.is_valid():
        try:
            exported = _export(request, view, view.form.export_request())
        except TuningError as error:
            view.form.add_refusal(error)
    if exported is not None and request.POST.get("action") == DOWNLOAD:
        return download(exported.file_name, exported.content_type, exported.data)
    return _page(request, study, view, exported)


@require_GET
def my_cnf(request: HttpRequest, pk: int, recommendation: int) -> HttpResponse:
    """The recommended my.cnf; below D0 only with `?acknowledge=D1`, otherwise the export page."""
    study, view = _found(request, pk, recommendation)
    acknowledged = request.GET.get("acknowledge", "")
    try:
        wanted = ExportRequest(acknowledged=Durability(acknowledged or Durability.D0))
        exported = _export(request, view, wanted)
    except (TuningError, ValueError):
        return _page(request, study, view, status=409)
    return download(exported.file_name, exported.content_type, exported.data)


def _export(request: HttpRequest, view: RecommendationCard, wanted: ExportRequest) -> Exported:
    url = study_url(view.document, request)
    return view.files.export(view.found.id, wanted, study_url=url)


def _found(
    request: HttpRequest, pk: int, recommendation: int, *, with_answers: bool = False
) -> tuple[Study, RecommendationCard]:
    """Return the study with one of its recommendations. Raises Http404."""
    study = get_object_or_404(Study.objects.select_related("server", "host"), pk=pk)
    try:
        card = recommendation_card(
            document_of(study), recommendation, request, with_answers=with_answers
        )
    except ValueError:
        raise Http404 from None
    return study, card


def _page(
    request: HttpRequest,
    study: Study,
    view: RecommendationCard,
    exported: Exported | None = None,
    status: int | None = None,
) -> HttpResponse:
    context = {"view": view, "exported": exported, "study": study}
    # htmx takes the panel out of the page, and ignores a response with an error status.
    is_fine = not view.form.errors or request.htmx  # type: ignore[attr-defined]
    status = status or (200 if is_fine else 400)
    return render(request, "recommendations/export.html", context, status=status)
