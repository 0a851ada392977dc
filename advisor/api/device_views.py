"""The REST API, version 1: devices, their probes, and emulation profiles."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.conditional import IF_NONE_MATCH, unless_known
from advisor.api.created import created
from advisor.api.idempotency import KEY, IdempotentRequest
from advisor.api.listing import OF_HOST, PAGES, Pages, on_host, without_bulk
from advisor.api.serializers.common import error_response
from advisor.api.serializers.devices import (
    DevicePageSerializer,
    DeviceSerializer,
    DeviceSummarySerializer,
)
from advisor.api.serializers.probes import (
    ProbePageSerializer,
    ProbeSerializer,
    ProbeSummarySerializer,
)
from advisor.api.serializers.shown import all_shown, shown
from benchmarks.emulation.shipped import NATIVE
from benchmarks.models import Device, Probe
from benchmarks.storage.kinds import DeviceKind
from tuning.actions.fields import KindFields, ProbeFields
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import read_request
from tuning.results.known_devices import known_devices
from tuning.studies.named_devices import register_device, set_kind
from tuning.studies.probing import cancel_probe, start_probe

NO_DEVICE = error_response("There is no such device.")
NO_PROBE = error_response("There is no such probe.")
# Listed with the shipped profiles; a profile always has limits.
WITHOUT_LIMITS = {
    "name": NATIVE,
    "title": "The real device, without limits",
    "scaled": False,
    "source": "",
}


def devices() -> QuerySet[Device]:
    return Device.objects.select_related("host").defer(*without_bulk("host"))


def probes() -> QuerySet[Probe]:
    return Probe.objects.select_related("device")


class DeviceListView(APIView):
    @extend_schema(
        operation_id="list_devices",
        summary="List the devices of all hosts, newest first, including retired ones",
        parameters=[*PAGES, OF_HOST],
        responses={
            200: DevicePageSerializer,
            400: error_response("`invalid_request`: an unknown host."),
        },
    )
    def get(self, request: Request) -> Response:
        pages = Pages()
        page = pages.rows(on_host(devices(), request), request)
        return pages.answer(all_shown(DeviceSummarySerializer, known_devices(page)))

    @extend_schema(
        operation_id="register_device",
        summary="Inspect and register a device; an already registered one is returned",
        request=DeviceRequest,
        responses={
            201: DeviceSerializer,
            400: error_response(
                "Refused; nothing was stored: `invalid_request`, `device_unusable`, "
                "`emulation_unavailable`."
            ),
        },
    )
    def post(self, request: Request) -> Response:
        device = register_device(read_request(DeviceRequest, request.data))
        return created(request, "api-device-detail", device.pk, _document(device))


class DeviceDetailView(APIView):
    @extend_schema(
        operation_id="get_device",
        summary="One device: identity, newest probe, recommendations",
        responses={200: DeviceSerializer, 404: NO_DEVICE},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_document(get_object_or_404(devices(), pk=pk)))

    @extend_schema(
        operation_id="correct_device",
        summary="Set the kind of a device, or remove that setting",
        request=KindFields,
        responses={
            200: DeviceSerializer,
            400: error_response("`invalid_request`; `device_unusable` if the device is emulated."),
            404: NO_DEVICE,
        },
    )
    def patch(self, request: Request, pk: int) -> Response:
        device = get_object_or_404(devices(), pk=pk)
        kind = read_request(KindFields, request.data).kind
        set_kind(device, DeviceKind(kind) if kind else None)
        return Response(_document(device))


class ProbeListView(APIView):
    @extend_schema(
        operation_id="list_probes",
        summary="List the probes of a device, newest first, without their results",
        parameters=PAGES,
        responses={200: ProbePageSerializer, 404: NO_DEVICE},
    )
    def get(self, request: Request, pk: int) -> Response:
        device = get_object_or_404(devices(), pk=pk)
        return Pages().listed(device.probes.defer("result"), request, ProbeSummarySerializer)

    @extend_schema(
        operation_id="start_probe",
        summary="Probe a device with fio; the probe waits for a running study",
        parameters=[KEY],
        request=ProbeFields,
        responses={
            202: ProbeSerializer,
            400: error_response("`invalid_request`, `bad_request`, `device_retired`."),
            404: NO_DEVICE,
            409: error_response("`probe_running`: try again later."),
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        device = get_object_or_404(devices(), pk=pk)
        seconds = read_request(ProbeFields, request.data).seconds
        once = IdempotentRequest(request)
        made = once.make_quickly(lambda: start_probe(device, seconds, user=request.user))
        document = shown(ProbeSerializer, probes().get(pk=made))
        return created(
            request, "api-probe-detail", made, document, status=202, headers=once.headers
        )


class ProbeDetailView(APIView):
    @extend_schema(
        operation_id="get_probe",
        summary="One probe: progress and result",
        parameters=[IF_NONE_MATCH],
        responses={200: ProbeSerializer, 404: NO_PROBE},
    )
    def get(self, request: Request, pk: int) -> Response:
        probe = get_object_or_404(probes(), pk=pk)
        return unless_known(
            request, _word_of(probe), lambda: Response(shown(ProbeSerializer, probe))
        )


class CancelProbeView(APIView):
    @extend_schema(
        operation_id="cancel_probe",
        summary="Cancel a probe within seconds; a finished probe is not changed",
        request=None,
        responses={200: ProbeSerializer, 404: NO_PROBE},
    )
    def post(self, request: Request, pk: int) -> Response:
        cancel_probe(get_object_or_404(probes(), pk=pk))
        return Response(shown(ProbeSerializer, get_object_or_404(probes(), pk=pk)))


def _word_of(probe: Probe) -> str | None:
    """Differs whenever what is said of an ended probe does; None while it goes on."""
    if not probe.is_finished:
        return None
    device = probe.device
    return repr([probe.pk, probe.state, probe.finished_at, device.kind, str(device)])


def _document(device: Device) -> dict[str, Any]:
    [known] = known_devices([device])
    return shown(DeviceSerializer, known)
