"""The REST API, version 1: golden datasets of hosts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.created import created
from advisor.api.host_views import NO_HOST
from advisor.api.serializers.common import error_response
from advisor.api.serializers.datasets import DatasetSerializer, DeleteDatasetRequestSerializer
from advisor.api.serializers.hosts import InspectionSerializer
from advisor.api.serializers.shown import all_shown, shown
from benchmarks.models import Host, Inspection
from tuning.studies.datasets import noted_datasets
from tuning.studies.tidying import ask_to_delete, ask_to_prune


class DatasetListView(APIView):
    @extend_schema(
        operation_id="list_datasets",
        summary="The golden datasets of a host, as it noted them between two jobs",
        responses={200: DatasetSerializer(many=True), 404: NO_HOST},
    )
    def get(self, request: Request, pk: int) -> Response:
        found = noted_datasets(get_object_or_404(Host, pk=pk))
        return Response(all_shown(DatasetSerializer, found))


class DeleteDatasetView(APIView):
    @extend_schema(
        operation_id="delete_dataset",
        summary="Let a host delete a golden dataset between two runs",
        request=DeleteDatasetRequestSerializer,
        responses={
            202: InspectionSerializer,
            400: error_response(
                "`invalid_request`, `not_found`, `in_use`, `host_retired`, `host_busy`."
            ),
            404: NO_HOST,
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        name = DeleteDatasetRequestSerializer.of(request).validated_data["name"]
        return _asked(request, pk, partial(ask_to_delete, key=name))


class PruneDatasetsView(APIView):
    @extend_schema(
        operation_id="prune_datasets",
        summary="Let a host delete unused golden datasets, and those of servers that are gone",
        request=None,
        responses={
            202: InspectionSerializer,
            400: error_response("`host_retired`, `host_busy`."),
            404: NO_HOST,
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        return _asked(request, pk, ask_to_prune)


def _asked(request: Request, pk: int, ask: Callable[..., Inspection]) -> Response:
    """The job of the host; what was deleted stands in its answer."""
    row = ask(get_object_or_404(Host, pk=pk), user=request.user)
    document = shown(InspectionSerializer, row)
    return created(request, "api-inspection-detail", row.pk, document, status=202)
