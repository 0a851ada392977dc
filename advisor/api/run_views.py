"""The REST API, version 1: runs, their series and their logs."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.conditional import IF_NONE_MATCH, unless_known
from advisor.api.listing import PAGES, Pages, on_host, without_bulk
from advisor.api.queries import RunListQuery, listed_runs
from advisor.api.recommendation_views import AnyAccept
from advisor.api.serializers.common import QuerySerializer, error_response
from advisor.api.serializers.runs import (
    RunDetailSerializer,
    RunPageSerializer,
    RunSummarySerializer,
    SeriesSerializer,
    log_of,
    series_of,
)
from advisor.api.serializers.shown import all_shown, shown
from advisor.responses import download, series_csv
from benchmarks.models import Run, Workload
from tuning.results.run_list import BULKY

NO_RUN = error_response("There is no such run.")
JSON, CSV = "json", "csv"


class SeriesQuery(QuerySerializer):
    format = serializers.ChoiceField(
        choices=(JSON, CSV), default=JSON, help_text="csv: a line a second."
    )


def runs() -> QuerySet[Run]:
    rows = Run.objects.select_related(
        "host", "device", "server", "workload", "config", "slot__candidate"
    )
    return rows.defer(*without_bulk("host", "slot__candidate"))


class AllRunsView(APIView):
    @extend_schema(
        operation_id="list_all_runs",
        summary="List the runs of all studies, newest first",
        parameters=[*PAGES, RunListQuery],
        responses={200: RunPageSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        rows = listed_runs(on_host(runs(), request), RunListQuery.asked(request))
        pages = Pages()
        page = pages.rows(rows.defer(*BULKY), request)
        Workload.objects.fetch_load_hosts(run.workload for run in page)
        return pages.answer(all_shown(RunSummarySerializer, page))


class RunDetailView(APIView):
    @extend_schema(
        operation_id="get_run",
        summary="One run: figures, conditions, variables, fingerprint",
        parameters=[IF_NONE_MATCH],
        responses={200: RunDetailSerializer, 404: NO_RUN},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        run = get_object_or_404(runs(), pk=pk)
        return unless_known(
            request, word_of(run), lambda: Response(shown(RunDetailSerializer, run))
        )


class RunSeriesView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="get_run_series",
        summary="A run second by second, as JSON or CSV",
        parameters=[SeriesQuery, IF_NONE_MATCH],
        responses={
            (200, "application/json"): SeriesSerializer,
            (200, "text/csv"): OpenApiTypes.STR,
            400: error_response("`invalid_request`."),
            404: NO_RUN,
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        run = get_object_or_404(runs(), pk=pk)
        wanted = SeriesQuery.asked(request)["format"]
        return unless_known(
            request,
            word_of(run),
            lambda: (
                series_csv(run, f"run-{run.pk}.csv") if wanted == CSV else Response(series_of(run))
            ),
        )


class RunLogView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="get_run_log",
        summary="The end of what a run's server and driver wrote, without passwords",
        responses={(200, "text/plain"): OpenApiTypes.STR, 404: NO_RUN},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        run = get_object_or_404(Run, pk=pk)
        return download(f"run-{run.pk}.log", "text/plain; charset=utf-8", log_of(run))


def word_of(run: Run) -> str | None:
    """Differs whenever what is said of an ended run does; None while it goes on."""
    if not run.is_finished:
        return None
    device = run.device
    where = [getattr(run, "slot", None), device.kind, device.emulation_label, run.host.name]
    return repr([run.pk, run.state, run.finished_at, run.samples.count(), *where, str(device)])
