"""The REST API, version 1: chosen configs side by side."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.errors import ApiError
from advisor.api.serializers.common import QuerySerializer, error_response
from advisor.api.serializers.config_comparisons import ConfigComparisonSerializer
from advisor.api.serializers.shown import shown
from benchmarks.models import Config
from tuning.comparison.configs import compare_configs

MAX_CONFIGS = 20
HASH = r"^[0-9a-f]{64}$"


class ConfigComparisonQuery(QuerySerializer):
    config = serializers.ListField(
        child=serializers.RegexField(HASH),
        min_length=2,
        max_length=MAX_CONFIGS,
        help_text="The `hash` of a config, two or more times; ratios are to the first.",
    )


class ConfigComparisonView(APIView):
    @extend_schema(
        operation_id="compare_configs",
        summary="Chosen configs: where they differ, and what was measured of each",
        parameters=[ConfigComparisonQuery],
        responses={
            200: ConfigComparisonSerializer,
            400: error_response("`invalid_request`."),
            404: error_response("`not_found`: there is no config of that hash."),
        },
    )
    def get(self, request: Request) -> Response:
        wanted = list(dict.fromkeys(ConfigComparisonQuery.asked(request)["config"]))
        there = {one.hash: one for one in Config.objects.filter(hash__in=wanted)}
        for digest in wanted:
            if digest not in there:
                raise ApiError(404, "not_found", f"There is no config {digest[:12]}.")
        found = compare_configs([there[digest] for digest in wanted])
        document = vars(found) | {"configs": wanted}
        return Response(shown(ConfigComparisonSerializer, document))
