"""The REST API, version 1: checking a my.cnf without a study."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.access.limits import CONFIG_CHECKS
from advisor.api.errors import refusal
from advisor.api.serializers.common import error_response
from advisor.api.serializers.configs import CheckedConfigSerializer
from advisor.api.serializers.requests import CheckRequestSerializer
from advisor.api.views import UNAUTHORISED
from benchmarks.errors import BenchmarkError
from tuning.catalogue.knob import Durability
from tuning.errors import TuningError
from tuning.studies.check import check_text


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
            401: UNAUTHORISED,
        },
    )
    def post(self, request: Request) -> Response:
        body = CheckRequestSerializer.of(request)
        values = body.validated_data
        if wait := CONFIG_CHECKS.take(f"{request.user.pk}"):
            raise Throttled(wait)
        try:
            checked = check_text(
                values["text"].encode(),
                name=values["name"],
                target=values.get("target"),
                host=values.get("host", ""),
                translate_from=values["translate_from"],
                durability=Durability(values["durability"]),
                connections=values.get("connections"),
            )
        except (TuningError, BenchmarkError) as error:
            raise refusal(error, {"server": "target"}) from error
        return Response(CheckedConfigSerializer(checked).data)
