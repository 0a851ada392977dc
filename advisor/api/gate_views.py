"""The REST API, version 1: gates, and their verdicts as files."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.conditional import IF_NONE_MATCH, unless_known
from advisor.api.created import created
from advisor.api.idempotency import KEY, IdempotentRequest
from advisor.api.listing import PAGES, Pages, on_host
from advisor.api.queries import GateListQuery
from advisor.api.serializers.common import error_response
from advisor.api.serializers.gates import (
    GatePageSerializer,
    GateSerializer,
    GateStateSerializer,
)
from advisor.api.serializers.shown import shown
from tuning.export.gate_files import GATE_FILES
from tuning.requests.fields import read_request
from tuning.requests.gate import GateRequest
from tuning.results.gate_facts import gate_facts, gates
from tuning.studies.gates import create_gate
from tuning.studies.revision import ended_revision

NO_GATE = error_response("There is no such gate.")


def _state(request: Request, pk: int) -> dict[str, Any]:
    """One gate with its figures. Raises Http404."""
    study: Any = get_object_or_404(gates(), pk=pk)
    study.facts = gate_facts(study, url=_page(request, pk))
    return shown(GateStateSerializer, study)


def _page(request: Request, pk: int) -> str:
    return request.build_absolute_uri(reverse("gate-detail", args=[pk]))


class GateListView(APIView):
    @extend_schema(
        operation_id="list_gates",
        summary="List all gates, newest first",
        parameters=[*PAGES, GateListQuery],
        responses={200: GatePageSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        query = GateListQuery.asked(request)
        rows = on_host(gates(), request)
        if name := query.get("name"):
            rows = rows.filter(name=name)
        return Pages().listed(rows, request, GateSerializer)

    @extend_schema(
        operation_id="create_gate",
        summary="Ask whether a config or a server may take the place of another",
        parameters=[KEY],
        request=GateRequest,
        responses={
            201: GateStateSerializer,
            400: error_response("Refused, nothing was stored. `invalid_config` lists the lines."),
        },
    )
    def post(self, request: Request) -> Response:
        body, once = read_request(GateRequest, request.data), IdempotentRequest(request)
        pk = once.make(lambda keep: create_gate(body, user=request.user, also=keep))
        document = _state(request, pk)
        return created(request, "api-gate-detail", pk, document, headers=once.headers)


class GateDetailView(APIView):
    @extend_schema(
        operation_id="get_gate",
        summary="One gate with its figures",
        parameters=[IF_NONE_MATCH],
        responses={200: GateStateSerializer, 404: NO_GATE},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        get_object_or_404(gates().select_related(None).only("pk"), pk=pk)
        return unless_known(request, ended_revision(pk), lambda: Response(_state(request, pk)))


def _documented(form: str, summary: str) -> Any:
    media_type, _ = GATE_FILES[form]
    found = OpenApiResponse(OpenApiTypes.STR, description="The file.")
    return extend_schema(
        operation_id=f"get_gate_{form}",
        summary=summary,
        parameters=[IF_NONE_MATCH],
        responses={(200, media_type): found, 404: NO_GATE},
    )


def _file(form: str, request: Request, pk: int) -> HttpResponse:
    study = get_object_or_404(gates(), pk=pk)
    media_type, make = GATE_FILES[form]

    def file() -> HttpResponse:
        text = make(gate_facts(study, url=_page(request, pk)))
        return HttpResponse(text, content_type=f"{media_type}; charset=utf-8")

    return unless_known(request, ended_revision(pk), file)


class GateJunitView(APIView):
    @_documented("junit", "The verdict as JUnit XML, with a case for each limit")
    def get(self, request: Request, pk: int) -> HttpResponse:
        return _file("junit", request, pk)


class GateMarkdownView(APIView):
    @_documented("markdown", "The verdict as a summary in Markdown")
    def get(self, request: Request, pk: int) -> HttpResponse:
        return _file("markdown", request, pk)
