"""The REST API, version 1: devices, their probes, and what can be emulated on them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.serializers.common import ErrorSerializer
from advisor.api.serializers.device_requests import (
    DeviceRequestSerializer,
    KindRequestSerializer,
    ProbeRequestSerializer,
)
from advisor.api.serializers.devices import (
    DevicePageSerializer,
    DeviceSerializer,
    DeviceSummarySerializer,
    EmulationProfileSerializer,
)
from advisor.api.serializers.probes import (
    ProbePageSerializer,
    ProbeSerializer,
    ProbeSummarySerializer,
)
from advisor.api.views import PAGES, UNAUTHORISED, Pages
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.inventory.devices import NATIVE, correct_kind
from benchmarks.models import Device, Probe
from tuning.results.known_devices import known_devices
from tuning.studies.devices import register_device
from tuning.studies.probing import cancel_probe, start_probe

NO_DEVICE = OpenApiResponse(ErrorSerializer, description="There is no such device.")
NO_PROBE = OpenApiResponse(ErrorSerializer, description="There is no such probe.")
# Beside the shipped profiles; without limits, which a profile cannot be.
AS_IT_IS = {"name": NATIVE, "title": "The device as it is", "scaled": False, "source": ""}


def devices() -> QuerySet[Device]:
    return Device.objects.select_related("host")


def probes() -> QuerySet[Probe]:
    return Probe.objects.select_related("device")


class DeviceListView(APIView):
    @extend_schema(
        operation_id="list_devices",
        summary="The devices of this host, newest first, the retired ones too",
        parameters=PAGES,
        responses={200: DevicePageSerializer, 401: UNAUTHORISED},
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        here = devices().filter(host__name=settings.HOST_NAME).order_by("-pk")
        page = pages.paginate_queryset(here, request, view=self) or []
        return pages.get_paginated_response(
            DeviceSummarySerializer(known_devices(page), many=True).data
        )

    @extend_schema(
        operation_id="register_device",
        summary="Look at a device and keep it; the one that is kept already where it is the same",
        request=DeviceRequestSerializer,
        responses={
            201: DeviceSerializer,
            400: OpenApiResponse(
                ErrorSerializer,
                description="Refused; nothing was stored: `invalid_request`, `device_unusable`, "
                "`emulation_unavailable`.",
            ),
            401: UNAUTHORISED,
        },
    )
    def post(self, request: Request) -> Response:
        body = DeviceRequestSerializer.of(request)
        device = register_device(body.device_request())
        location = request.build_absolute_uri(reverse("api-device-detail", args=[device.pk]))
        return Response(_document(device), status=201, headers={"Location": location})


class DeviceDetailView(APIView):
    @extend_schema(
        operation_id="get_device",
        summary="One device: what it is, its newest probe, what was best on it",
        responses={200: DeviceSerializer, 401: UNAUTHORISED, 404: NO_DEVICE},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_document(get_object_or_404(devices(), pk=pk)))

    @extend_schema(
        operation_id="correct_device",
        summary="Say what kind of device it is, or take that back",
        request=KindRequestSerializer,
        responses={
            200: DeviceSerializer,
            400: OpenApiResponse(
                ErrorSerializer,
                description="`invalid_request`; `device_unusable` where limits make the kind.",
            ),
            401: UNAUTHORISED,
            404: NO_DEVICE,
        },
    )
    def patch(self, request: Request, pk: int) -> Response:
        device = get_object_or_404(devices(), pk=pk)
        body = KindRequestSerializer.of(request)
        correct_kind(device, body.device_kind())
        return Response(_document(device))


class ProbeListView(APIView):
    @extend_schema(
        operation_id="list_probes",
        summary="The probes of a device, newest first, without their results",
        parameters=PAGES,
        responses={200: ProbePageSerializer, 401: UNAUTHORISED, 404: NO_DEVICE},
    )
    def get(self, request: Request, pk: int) -> Response:
        device = get_object_or_404(devices(), pk=pk)
        pages = Pages()
        page = pages.paginate_queryset(device.probes.defer("result"), request, view=self) or []
        return pages.get_paginated_response(ProbeSummarySerializer(page, many=True).data)

    @extend_schema(
        operation_id="start_probe",
        summary="Probe a device with fio; waits for a study that has begun",
        request=ProbeRequestSerializer,
        responses={
            202: ProbeSerializer,
            400: OpenApiResponse(
                ErrorSerializer, description="`invalid_request`, `bad_request`, `device_retired`."
            ),
            401: UNAUTHORISED,
            404: NO_DEVICE,
            409: OpenApiResponse(ErrorSerializer, description="`probe_running`: ask later."),
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        device = get_object_or_404(devices(), pk=pk)
        body = ProbeRequestSerializer.of(request)
        probe = start_probe(device, body.validated_data["seconds"], user=request.user)
        location = request.build_absolute_uri(reverse("api-probe-detail", args=[probe.pk]))
        return Response(ProbeSerializer(probe).data, status=202, headers={"Location": location})


class ProbeDetailView(APIView):
    @extend_schema(
        operation_id="get_probe",
        summary="One probe: how far it is, and what it found",
        responses={200: ProbeSerializer, 401: UNAUTHORISED, 404: NO_PROBE},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(ProbeSerializer(get_object_or_404(probes(), pk=pk)).data)


class CancelProbeView(APIView):
    @extend_schema(
        operation_id="cancel_probe",
        summary="End a probe within seconds; one that has ended stays as it is",
        request=None,
        responses={200: ProbeSerializer, 401: UNAUTHORISED, 404: NO_PROBE},
    )
    def post(self, request: Request, pk: int) -> Response:
        cancel_probe(get_object_or_404(probes(), pk=pk))
        return Response(ProbeSerializer(get_object_or_404(probes(), pk=pk)).data)


class EmulationProfileListView(APIView):
    @extend_schema(
        operation_id="list_emulation_profiles",
        summary="The devices that can be emulated, with their limits as rated",
        responses={200: EmulationProfileSerializer(many=True), 401: UNAUTHORISED},
    )
    def get(self, request: Request) -> Response:
        return Response(
            EmulationProfileSerializer([AS_IT_IS, *shipped_profiles().values()], many=True).data
        )


def _document(device: Device) -> dict[str, Any]:
    [known] = known_devices([device])
    return dict(DeviceSerializer(known).data)
