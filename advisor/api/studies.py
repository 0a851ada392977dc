"""Studies, their result documents and their recommendations as files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import parse_etags
from ninja import Field, FilterLookup, FilterSchema, Query, Router

from advisor.api.once import Key, create_once
from advisor.api.paging import Page, PageQuery, page_of, without_bulk
from advisor.api.schemas import studies as schemas
from advisor.api.schemas.common import Body, Id
from advisor.api.schemas.configs import Text
from advisor.responses import download
from benchmarks.models import Device
from tuning.catalogue.knob import Durability
from tuning.creation import create
from tuning.errors import TuningError
from tuning.export.formats import FORMATS, ExportRequest
from tuning.models import Recommendation, Study, StudyState
from tuning.recommendations import StudyFiles
from tuning.requests.study import StudyRequest
from tuning.results.document import StudyDocument
from tuning.stored_documents import document_of

router = Router(tags=["studies"])


class StudyFilters(FilterSchema):
    state: Annotated[list[StudyState] | None, FilterLookup("state__in")] = None
    template: Annotated[str | None, FilterLookup("template")] = None
    name: Annotated[str | None, FilterLookup("name__icontains")] = None
    host: Annotated[str | None, FilterLookup("host__name")] = None
    device: Annotated[Id | None, FilterLookup("devices")] = None
    group: Annotated[Id | None, FilterLookup("group")] = None
    searches: bool | None = None
    archived: bool = False

    def filter_archived(self, value: bool) -> Q:
        return Q(archived_at__isnull=not value)

    def filter_searches(self, value: bool | None) -> Q:
        return Q() if value is None else Q(search__isnull=not value)


def studies() -> QuerySet[Study]:
    """Return all studies with what a line of a list shows."""
    rows = Study.objects.select_related("server", "host").defer(*without_bulk("host"))
    devices = Device.objects.defer("identity", "log_identity")
    return rows.prefetch_related(Prefetch("devices", devices), "workloads__load_host")


@router.get("studies/", response=Page[schemas.StudyRow], url_name="study-list")
def list_studies(
    request: HttpRequest, filters: Query[StudyFilters], query: Query[PageQuery]
) -> Any:
    """List all studies, newest first."""
    return page_of(filters.filter(studies()).order_by("-pk"), query)


@router.post("studies/", response={201: schemas.StudyDetail}, url_name="study-list")
def create_study(request: HttpRequest, body: StudyRequest, key: Key = None) -> Study:
    """Start a study."""
    made = create_once(
        Study,
        request,
        key,
        lambda keep: create.create_study(body, user=request.user, also=keep),
    )
    return get_object_or_404(studies(), pk=made.pk)


@router.get("studies/{int:pk}/", response=schemas.StudyDetail, url_name="study-detail")
def get_study(request: HttpRequest, pk: int) -> Study:
    """One study with its progress."""
    return get_object_or_404(studies(), pk=pk)


@router.get("studies/{int:pk}/document/", response=StudyDocument, url_name="study-document")
def get_document(
    request: HttpRequest, response: HttpResponse, pk: int, revision: int | None = None
) -> Any:
    """The results of a study: boards, verdicts, recommendations, runs, data quality.

    The ETag is the revision. 204 with `?revision=` of the newest, 304 with its ETag.
    """
    study = get_object_or_404(Study, pk=pk)
    tag = f'"{study.revision}"'
    if revision == study.revision:
        return HttpResponse(status=204, headers={"ETag": tag})
    if tag in parse_etags(request.headers.get("If-None-Match", "")):
        return HttpResponse(status=304, headers={"ETag": tag})
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    return document_of(study)


@router.get("studies/{int:pk}/events/", response=list[schemas.Event], url_name="study-events")
def list_events(request: HttpRequest, pk: int) -> Any:
    """List the events of a study, newest first."""
    return get_object_or_404(Study, pk=pk).events.all()


class RecommendationFilters(FilterSchema):
    study: Annotated[Id | None, FilterLookup("study")] = None
    device: Annotated[Id | None, FilterLookup("device")] = None
    host: Annotated[str | None, FilterLookup("device__host__name")] = None
    durability: Annotated[Durability | None, FilterLookup("durability")] = None
    confirmed: bool | None = None

    def filter_confirmed(self, value: bool | None) -> Q:
        confirmed = Q(confirmation="confirmed")
        return Q() if value is None else confirmed if value else ~confirmed


@router.get(
    "recommendations/", response=Page[schemas.RecommendationRow], url_name="recommendation-list"
)
def list_recommendations(
    request: HttpRequest, filters: Query[RecommendationFilters], query: Query[PageQuery]
) -> Any:
    """List the recommendations of all studies, newest first."""
    rows = Recommendation.objects.select_related(
        "study__server", "device__host", "workload", "candidate"
    ).defer(*without_bulk("device__host", "candidate"))
    return page_of(filters.filter(rows).order_by("-pk"), query)


class ExportBody(Body):
    format: Literal[*FORMATS] = "cnf"  # type: ignore[valid-type]
    acknowledge: Durability = Field(
        Durability.D0, description="The least safe durability class that you accept."
    )
    current: Text | None = Field(
        None,
        description="Your current my.cnf, for `cnf`, `diff` and the rollback; by default the file "
        "that the recommendation came from. Without either `diff` is refused.",
    )


@router.post("recommendations/{int:pk}/export/", url_name="export")
def export_recommendation(request: HttpRequest, pk: int, body: ExportBody) -> HttpResponse:
    """The recommendation as a file: my.cnf, diff, SQL, rollback, Ansible, RDS or JSON."""
    current = body.current
    wanted = ExportRequest(
        format=body.format,
        acknowledged=body.acknowledge,
        current=None if current is None else current.encode(),
    )
    return _file(request, pk, wanted)


@router.get("recommendations/{int:pk}/my.cnf", url_name="my-cnf")
def get_my_cnf(
    request: HttpRequest, pk: int, acknowledge: Durability = Durability.D0
) -> HttpResponse:
    """The recommended my.cnf; `acknowledge` the class of one that may lose something."""
    return _file(request, pk, ExportRequest(acknowledged=acknowledge))


def _file(request: HttpRequest, pk: int, wanted: ExportRequest) -> HttpResponse:
    found = get_object_or_404(Recommendation.objects.select_related("study__server"), pk=pk)
    if not found.study.is_finished:
        raise TuningError("study_running", "the study has not ended yet")
    url = request.build_absolute_uri(reverse("study-detail", args=[found.study_id]))
    files = StudyFiles.of(document_of(found.study))
    file = files.export(pk, wanted, study_url=url)
    return download(file.file_name, file.content_type, file.data)
