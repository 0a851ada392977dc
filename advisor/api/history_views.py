"""The REST API, version 1: a baseline over months on one device."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.device_views import NO_DEVICE
from advisor.api.serializers.common import error_response
from advisor.api.serializers.history import (
    BaselineHistorySerializer,
    HistoryQuery,
    history_document,
)
from advisor.api.serializers.shown import shown
from benchmarks.models import Device
from tuning.comparison.baseline_history import chosen_history


class DeviceHistoryView(APIView):
    @extend_schema(
        operation_id="get_baseline_history",
        summary="The baseline's figures on a device over months, and where they changed",
        parameters=[HistoryQuery],
        responses={
            200: BaselineHistorySerializer,
            400: error_response("`invalid_request`: there is no such line."),
            404: NO_DEVICE,
        },
    )
    def get(self, request: Request, pk: int) -> Response:
        asked = HistoryQuery.asked(request)["line"]
        device = get_object_or_404(Device, pk=pk)
        lines, history = chosen_history(device, asked)
        if asked and asked not in {line.token for line in lines}:
            raise ValidationError({"line": ["There is no such line on this device."]})
        return Response(shown(BaselineHistorySerializer, history_document(lines, history)))
