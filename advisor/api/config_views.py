"""The REST API, version 1: checking a my.cnf without a study."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.errors import refusals
from advisor.api.serializers.common import error_response
from advisor.api.serializers.config_comparisons import DiffSerializer, ProposalSerializer
from advisor.api.serializers.configs import CheckedConfigSerializer
from advisor.api.serializers.requests import (
    CheckRequestSerializer,
    DiffRequestSerializer,
    TranslateRequestSerializer,
)
from advisor.api.serializers.shown import all_shown, shown
from tuning.catalogue.knob import Durability
from tuning.comparison.configs import differing_knobs
from tuning.errors import InvalidConfig
from tuning.requests.fields import read_request
from tuning.requests.study import StudyRequest
from tuning.studies.arrangement import proposals_here
from tuning.studies.check import CheckedText, check_text


def _checked(request: Request, values: dict[str, Any], text: str) -> CheckedText:
    """Raises ApiError."""
    with refusals({"server": "target"}):
        return check_text(
            text.encode(),
            name=values["name"],
            target=values.get("target"),
            host=values.get("host", ""),
            translate_from=values["translate_from"],
            durability=Durability(values["durability"]),
            connections=values.get("connections"),
        )


class CheckConfigView(APIView):
    @extend_schema(
        operation_id="check_config",
        summary="Check a my.cnf line by line; nothing is stored or started",
        request=CheckRequestSerializer,
        responses={
            200: OpenApiResponse(
                CheckedConfigSerializer, description="Also if lines are refused: see `is_fine`."
            ),
            400: error_response("`invalid_request`, `bad_request`, `no_server_found`."),
        },
    )
    def post(self, request: Request) -> Response:
        body = CheckRequestSerializer.of(request)
        values = body.validated_data
        checked = _checked(request, values, values["text"])
        return Response(shown(CheckedConfigSerializer, checked))


class TranslateConfigView(APIView):
    @extend_schema(
        operation_id="translate_config",
        summary="A my.cnf of another version or server for this one; nothing is stored or started",
        request=TranslateRequestSerializer,
        responses={
            200: OpenApiResponse(
                CheckedConfigSerializer, description="Also if lines are refused: see `is_fine`."
            ),
            400: error_response("`invalid_request`, `bad_request`, `no_server_found`."),
        },
    )
    def post(self, request: Request) -> Response:
        values = TranslateRequestSerializer.of(request).validated_data
        return Response(shown(CheckedConfigSerializer, _checked(request, values, values["text"])))


class DiffConfigsView(APIView):
    @extend_schema(
        operation_id="diff_configs",
        summary="Where two my.cnf differ once a server has read them",
        request=DiffRequestSerializer,
        responses={
            200: DiffSerializer,
            400: error_response(
                "`invalid_request`, `bad_request`, `no_server_found`; `invalid_config` lists the "
                "lines that are refused."
            ),
        },
    )
    def post(self, request: Request) -> Response:
        values = DiffRequestSerializer.of(request).validated_data
        sides = []
        for name in ("left", "right"):
            report = _checked(request, values | {"name": name}, values[name]).report
            if report.problems:
                raise InvalidConfig(report.problems)
            sides.append(report.knobs)
        return Response({"differences": differing_knobs(sides)})


class ProposalsView(APIView):
    @extend_schema(
        operation_id="propose_configs",
        summary="What each set of published rules advises here; nothing is stored or measured",
        request=StudyRequest,
        responses={
            200: ProposalSerializer(many=True),
            400: error_response("It would be refused."),
        },
    )
    def post(self, request: Request) -> Response:
        found = proposals_here(read_request(StudyRequest, request.data))
        return Response(all_shown(ProposalSerializer, found))
