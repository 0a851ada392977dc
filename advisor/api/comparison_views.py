"""The REST API, version 1: devices side by side, over all studies."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.serializers.common import error_response
from advisor.api.serializers.comparisons import (
    ComparisonQuery,
    DeviceComparisonSerializer,
    figures_of,
    run_set_of,
)
from advisor.api.serializers.shown import shown
from tuning.comparison.comparable_runs import chosen_run_set, labels, run_sets
from tuning.comparison.device_comparison import BEST, compare
from tuning.studies.groups import hosts_of_group

NOTHING: dict[str, Any] = {
    "differing": {},
    "devices": [],
    "configs": [],
    "results": [],
    "ratios": [],
}


class DeviceComparisonView(APIView):
    @extend_schema(
        operation_id="compare_devices",
        summary="Devices side by side, of one host or of several, slowest first",
        parameters=[ComparisonQuery],
        responses={200: DeviceComparisonSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        asked = ComparisonQuery.asked(request)
        found = run_sets()
        texts = labels(found)
        hosts = hosts_of_group(asked.get("group_id"))
        if asked["run_set"] and asked["run_set"] not in texts:
            raise ValidationError({"run_set": ["There is no such run set."]})
        chosen = chosen_run_set(found, asked["run_set"], hosts)
        comparison = None if chosen is None else compare(chosen, asked["config"])
        if asked["config"] != BEST and (comparison is None or comparison.choice is None):
            raise ValidationError({"config": ["It was not measured under these conditions."]})
        document = {
            "run_sets": [run_set_of(one, texts[one.key]) for one in found],
            "run_set": None if chosen is None else run_set_of(chosen, texts[chosen.key]),
            **(NOTHING if comparison is None else figures_of(comparison)),
        }
        return Response(shown(DeviceComparisonSerializer, document))
