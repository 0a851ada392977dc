"""The REST API, version 1: servers, configs, recommendations, published figures, the version."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.listing import OF_HOST, PAGES, Pages, named_host, on_host, without_bulk
from advisor.api.queries import RecommendationListQuery, listed_recommendations
from advisor.api.serializers.common import error_response
from advisor.api.serializers.listed import (
    ListedRecommendationSerializer,
    PublishedTableSerializer,
    RecommendationPageSerializer,
    ServerPageSerializer,
    ServerRowSerializer,
    StoredConfigSerializer,
    VersionSerializer,
)
from advisor.api.serializers.shown import all_shown, shown
from benchmarks.jobs.provenance import head_commit
from benchmarks.models import Config, Server, Workload
from tuning.models import Candidate, Recommendation
from tuning.published import loader as published

MAX_USES = 100
API_VERSION = 1


class ServerListView(APIView):
    @extend_schema(
        operation_id="list_servers",
        summary="List the servers that studies use or used, newest first",
        parameters=[*PAGES, OF_HOST],
        responses={200: ServerPageSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        rows = Server.objects.select_related("host").defer(*without_bulk("host"))
        page = pages.rows(on_host(rows, request), request)
        return pages.answer(all_shown(ServerRowSerializer, page))


class ConfigView(APIView):
    @extend_schema(
        operation_id="get_config",
        summary="A stored config by its hash: its variables and the studies that have it",
        responses={200: StoredConfigSerializer, 404: error_response("There is no such config.")},
    )
    def get(self, request: Request, digest: str) -> Response:
        config = get_object_or_404(Config, hash=digest)
        uses = Candidate.objects.filter(config=config).select_related("study").order_by("-pk")
        document: dict[str, Any] = {
            "hash": config.hash,
            "knobs": config.knobs,
            "runs": config.runs.count(),
            "candidates": uses[:MAX_USES],
        }
        return Response(shown(StoredConfigSerializer, document))


class RecommendationListView(APIView):
    @extend_schema(
        operation_id="list_recommendations",
        summary="List the recommendations of all studies, newest first",
        parameters=[*PAGES, RecommendationListQuery],
        responses={200: RecommendationPageSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        rows = Recommendation.objects.select_related(
            "study__server", "device__host", "workload", "candidate", "whole"
        )
        if (host := named_host(request)) is not None:
            rows = rows.filter(device__host=host)
        found = listed_recommendations(rows, RecommendationListQuery.asked(request))
        found = found.defer(*without_bulk("device__host", "candidate", "whole"))
        pages = Pages()
        page = pages.rows(found, request)
        Workload.objects.fetch_load_hosts(one.workload for one in page)
        return pages.answer(all_shown(ListedRecommendationSerializer, page))


class PublishedView(APIView):
    @extend_schema(
        operation_id="list_published_figures",
        summary="Figures of others, as their sources print them",
        responses={200: PublishedTableSerializer(many=True)},
    )
    def get(self, request: Request) -> Response:
        return Response(all_shown(PublishedTableSerializer, published.tables()))


class VersionView(APIView):
    @extend_schema(
        operation_id="get_version",
        summary="The version of the advisor and of this API",
        responses={200: VersionSerializer},
    )
    def get(self, request: Request) -> Response:
        return Response(
            {"version": settings.CODE_VERSION, "commit": head_commit(), "api": API_VERSION}
        )
