"""The REST API, version 1: studies and their rankings."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.changes import Changes
from advisor.api.conditional import IF_NONE_MATCH, unless_known
from advisor.api.created import created
from advisor.api.errors import ApiError
from advisor.api.idempotency import KEY, IdempotentRequest
from advisor.api.listing import PAGES, on_host, without_bulk
from advisor.api.queries import RankingQuery, StudyListQuery, listed_studies
from advisor.api.serializers.common import error_response
from advisor.api.serializers.events import EventSerializer
from advisor.api.serializers.rankings import RankingRowSerializer, ranking_of
from advisor.api.serializers.results import ResultsSerializer, RunSerializer, results_of
from advisor.api.serializers.searches import SearchHereSerializer
from advisor.api.serializers.shown import all_shown, shown
from advisor.api.serializers.studies import (
    StudyPageSerializer,
    StudySerializer,
    StudyStateSerializer,
)
from advisor.shown_studies import study_to_show
from benchmarks.models import Device
from tuning.actions.fields import BlocksFields, ReasonFields
from tuning.models import Candidate, Study
from tuning.requests.fields import read_request
from tuning.requests.study import StudyRequest
from tuning.results.study_result import StudyResult
from tuning.studies.concluding import conclude_study
from tuning.studies.lifecycle import cancel_study, create_study, extend_study
from tuning.studies.load_hosts import fetch_load_hosts
from tuning.studies.pausing import pause_study, resume_study
from tuning.studies.revision import ended_revision
from tuning.studies.searching import search_here
from tuning.studies.taking_apart import take_apart_study

NOT_FOUND = error_response("There is no such study.")


def studies() -> QuerySet[Study]:
    rows = Study.objects.select_related("server", "host").defer(*without_bulk("host"))
    devices = Device.objects.defer("identity", "log_identity")
    return rows.prefetch_related(Prefetch("devices", devices), "workloads")


def study_state(pk: int) -> dict[str, Any]:
    """One study with its progress. Raises Http404."""
    candidates = Candidate.objects.select_related("config", "merged_into", "taken_from")
    rows = studies().prefetch_related(Prefetch("candidates", candidates))
    return shown(StudyStateSerializer, get_object_or_404(rows, pk=pk))


def result_of(pk: int) -> StudyResult:
    """What a study's rows say now. Raises Http404."""
    return StudyResult(study_to_show(pk))


class StudyListView(APIView):
    @extend_schema(
        operation_id="list_studies",
        summary="List all studies, newest first",
        parameters=[*PAGES, StudyListQuery],
        responses={200: StudyPageSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        rows, pages = listed_studies(on_host(studies(), request), StudyListQuery.asked(request))
        page = pages.rows(rows, request)
        fetch_load_hosts(page)
        return pages.answer(all_shown(StudySerializer, page))

    @extend_schema(
        operation_id="create_study",
        summary="Start a study",
        parameters=[KEY],
        request=StudyRequest,
        responses={
            201: StudyStateSerializer,
            400: error_response("Refused, nothing was stored. `invalid_config` lists the lines."),
        },
    )
    def post(self, request: Request) -> Response:
        body, once = read_request(StudyRequest, request.data), IdempotentRequest(request)
        pk = once.make(lambda keep: create_study(body, user=request.user, also=keep))
        return created(request, "api-study-detail", pk, study_state(pk), headers=once.headers)


class SearchSpaceView(APIView):
    @extend_schema(
        operation_id="show_search_space",
        summary="What a search would change: nothing is stored or measured",
        request=StudyRequest,
        responses={200: SearchHereSerializer, 400: error_response("It would be refused.")},
    )
    def post(self, request: Request) -> Response:
        found = search_here(read_request(StudyRequest, request.data))
        return Response(shown(SearchHereSerializer, found))


class StudyDetailView(APIView):
    @extend_schema(
        operation_id="get_study",
        summary="One study with its progress",
        parameters=[IF_NONE_MATCH],
        responses={200: StudyStateSerializer, 404: NOT_FOUND},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        return unless_known(request, ended_revision(pk), lambda: Response(study_state(pk)))


class RankingView(APIView):
    @extend_schema(
        operation_id="get_ranking",
        summary="The current ranking, also while the study is running",
        parameters=[RankingQuery, IF_NONE_MATCH],
        responses={
            200: RankingRowSerializer(many=True),
            400: error_response("`invalid_request`."),
            404: NOT_FOUND,
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        query = RankingQuery.asked(request)
        return unless_known(
            request, ended_revision(pk), lambda: Response(ranking_of(result_of(pk), **query))
        )


class ResultsView(APIView):
    @extend_schema(
        operation_id="get_results",
        summary="Verdicts with noise floor, confirmation and Pareto front; data quality",
        parameters=[IF_NONE_MATCH],
        responses={200: ResultsSerializer, 404: NOT_FOUND},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        return unless_known(
            request, ended_revision(pk), lambda: Response(results_of(result_of(pk)))
        )


def _events(pk: int) -> Any:
    return all_shown(EventSerializer, study_to_show(pk).events.all())


class EventListView(APIView):
    @extend_schema(
        operation_id="list_events",
        summary="What happened in a study, newest first",
        parameters=[IF_NONE_MATCH],
        responses={200: EventSerializer(many=True), 404: NOT_FOUND},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        return unless_known(request, ended_revision(pk), lambda: Response(_events(pk)))


class RunListView(APIView):
    @extend_schema(
        operation_id="list_runs",
        summary="All runs of a study, with their disturbances",
        parameters=[IF_NONE_MATCH],
        responses={200: RunSerializer(many=True), 404: NOT_FOUND},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        return unless_known(
            request,
            ended_revision(pk),
            lambda: Response(all_shown(RunSerializer, result_of(pk).history)),
        )


_changes = Changes(
    "Changes the state of a study; the response is the study afterwards.",
    studies,
    study_state,
    StudyStateSerializer,
    NOT_FOUND,
)
ExtendView = _changes.view(
    extend_study,
    "extend_study",
    "Measure more blocks of a finished study, then conclude it again",
    "`invalid_request`, `not_finished`, `nothing_left`, `device_retired`.",
    BlocksFields,
)
PauseView = _changes.view(
    pause_study,
    "pause_study",
    "Pause a study after its current run; the host continues with its next study",
    "`invalid_request`, `already_paused`, `already_ended`, `being_cancelled`.",
    ReasonFields,
)
ResumeView = _changes.view(
    resume_study,
    "resume_study",
    "Continue a paused study, after the one that is running",
    "`not_paused`, `already_ended`, `device_retired`.",
)
ConcludeView = _changes.view(
    conclude_study,
    "conclude_study",
    "Measure only what an answer from the results so far needs, then end the study",
    "`already_ended`, `being_cancelled`, `nothing_measured`.",
)
TakeApartView = _changes.view(
    take_apart_study,
    "take_apart_study",
    "Measure the confirmed winner of a finished study without some of its lines",
    "`not_finished`, `nothing_confirmed`, `nothing_left`, `device_retired`.",
)
CancelView = _changes.view(
    cancel_study,
    "cancel_study",
    "Cancel a study within seconds; results are kept",
    "`already_ended`.",
)


class UnknownAddressView(APIView):
    """An unknown address below the API, with its error format."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    @extend_schema(exclude=True)
    def get(self, request: Request, rest: str) -> Response:
        raise ApiError(404, "not_found", "There is no such address.")

    post = put = patch = delete = get
