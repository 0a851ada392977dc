"""The REST API, version 1: recommendations, as documents and as files."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.conditional import IF_NONE_MATCH, unless_known
from advisor.api.errors import ASK_AGAIN_S, ApiError
from advisor.api.serializers.common import CLASSES, error_response
from advisor.api.serializers.recommendations import RecommendationSerializer, recommendation_of
from advisor.api.serializers.requests import LINES, LINES_HELP, ExportRequestSerializer
from advisor.api.views import studies
from advisor.ids import MAX_ID
from advisor.responses import download
from tuning.catalogue.knob import Durability
from tuning.export.formats import ExportRequest
from tuning.models import Recommendation
from tuning.results.study_result import StudyResult
from tuning.studies.revision import ended_revision

WHICH = [
    OpenApiParameter("device", int, description="Required if the study has several devices."),
    OpenApiParameter(
        "connections", int, description="Required if the study has several numbers of connections."
    ),
    OpenApiParameter(
        "durability", str, enum=CLASSES, description="Required if the study has several classes."
    ),
]
MISSING = {
    404: error_response("`not_found`, `no_recommendation`."),
    409: error_response("`study_running`: try again later."),
}


class AnyAccept(BaseContentNegotiation):
    """The response has one format, whatever the Accept header prefers."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class RecommendationView(APIView):
    @extend_schema(
        operation_id="get_recommendation",
        summary="The recommended config, its verdict and what it may lose",
        parameters=[*WHICH, IF_NONE_MATCH],
        responses={
            200: RecommendationSerializer,
            400: error_response(
                "`device_required`, `connections_required`, `durability_required`."
            ),
            **MISSING,
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        return unless_known(
            request,
            ended_revision(pk),
            lambda: Response(recommendation_of(*_found(request, pk))),
        )


class MyCnfView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="get_my_cnf",
        summary="The recommended my.cnf",
        parameters=[
            *WHICH,
            OpenApiParameter(
                "acknowledge",
                str,
                enum=CLASSES,
                description="The least safe durability class that you accept.",
            ),
            OpenApiParameter(
                "as_measured",
                bool,
                description="Values of a scale model are not sized back to the real server.",
            ),
            OpenApiParameter("lines", str, enum=LINES, description=LINES_HELP),
            IF_NONE_MATCH,
        ],
        responses={
            (200, "text/plain"): OpenApiTypes.STR,
            400: error_response(
                "`device_required`, `connections_required`, `durability_required`, "
                "`durability_not_acknowledged`, `invalid_request`."
            ),
            **MISSING,
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        acknowledged = _class_of(request.query_params.get("acknowledge"), "acknowledge")
        lines = request.query_params.get("lines", LINES[0])
        if lines not in LINES:
            raise ApiError(400, "invalid_request", f"lines must be one of {', '.join(LINES)}.")
        wanted = ExportRequest(
            acknowledged=acknowledged or Durability.D0,
            as_measured=_switch(request, "as_measured"),
            keeps_lines=lines == LINES[1],
        )
        return unless_known(
            request,
            ended_revision(pk),
            lambda: _file(request, *_found(request, pk), wanted),
        )


class ExportView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="export_recommendation",
        summary="The recommendation as a file: my.cnf, SQL, rollback, diff or JSON",
        request=ExportRequestSerializer,
        responses={
            (200, "text/plain"): OpenApiTypes.STR,
            (200, "application/sql"): OpenApiTypes.STR,
            (200, "text/x-diff"): OpenApiTypes.STR,
            (200, "application/json"): OpenApiTypes.OBJECT,
            400: error_response(
                "`invalid_request`, `durability_not_acknowledged`, `current_config_needed`, "
                "`device_required`, `connections_required`, `durability_required`; "
                "`invalid_config` for lines that cannot be read or applied."
            ),
            **MISSING,
        },
    )
    def post(self, request: Request, pk: int) -> HttpResponse:
        body = ExportRequestSerializer.of(request)
        values = body.validated_data
        found = _choose(
            pk, values.get("device"), values.get("connections"), values.get("durability")
        )
        return _file(request, *found, body.export_request())


def _file(
    request: Request, result: StudyResult, recommendation: Recommendation, wanted: ExportRequest
) -> HttpResponse:
    url = request.build_absolute_uri(reverse("study-detail", args=[result.study.pk]))
    file = result.export(recommendation, wanted, study_url=url)
    return download(file.file_name, file.content_type, file.text)


def _found(request: Request, pk: int) -> tuple[StudyResult, Recommendation]:
    device = _number(request, "device", "device must be the id of a device.")
    connections = _number(request, "connections", "connections must be a number.")
    durability = _class_of(request.query_params.get("durability"), "durability")
    return _choose(pk, device, connections, durability)


def _number(request: Request, name: str, message: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    # The length first: Python itself refuses to read thousands of digits.
    if not text.isdecimal() or len(text) > len(f"{MAX_ID}") or int(text) > MAX_ID:
        raise ApiError(400, f"{name}_required", message)
    return int(text)


def _class_of(text: str | None, name: str) -> Durability | None:
    if text is None:
        return None
    if text not in CLASSES:
        message = f"{name} must be one of {', '.join(CLASSES)}."
        raise ApiError(400, "invalid_request", message)
    return Durability(text)


def _switch(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("0", "1", "false", "true"):
        raise ApiError(400, "invalid_request", f"{name} must be true or false.")
    return text in ("1", "true")


def _choose(
    pk: int, device: int | None, connections: int | None, durability: str | None
) -> tuple[StudyResult, Recommendation]:
    """The study and the requested recommendation; ApiError lists the choices if ambiguous."""
    study = get_object_or_404(studies(), pk=pk)
    if not study.is_finished:
        said = "The study has not ended yet."
        raise ApiError(409, "study_running", said, retry_after=ASK_AGAIN_S)
    result = StudyResult(study)
    rows = [
        one
        for one in result.recommendations
        if device in (None, one.device_id)
        and connections in (None, one.workload.connections)
        and durability in (None, one.durability)
    ]
    if not rows:
        reason = study.reason or "the study ended without one"
        raise ApiError(404, "no_recommendation", f"No recommendation: {reason}.")
    devices = {row.device_id: str(row.device) for row in rows}
    if len(devices) > 1:
        names = "; ".join(f"{pk}: {name}" for pk, name in devices.items())
        said = f"The study has several devices; choose one with device=ID. {names}."
        raise ApiError(400, "device_required", said, {"devices": list(devices)})
    numbers = sorted({row.workload.connections for row in rows})
    if len(numbers) > 1:
        said = "The study has several numbers of connections; choose one with connections=N."
        raise ApiError(400, "connections_required", said, {"connections": numbers})
    if len(rows) > 1:
        said = (
            "The study has recommendations of several classes; choose one, such as durability=D0."
        )
        classes = [row.durability for row in rows]
        raise ApiError(400, "durability_required", said, {"classes": classes})
    return result, rows[0]
