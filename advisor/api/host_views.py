"""The REST API, version 1: hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.access.callers import caller_of
from advisor.api.changes import Changes
from advisor.api.created import created
from advisor.api.idempotency import KEY, IdempotentRequest
from advisor.api.listing import PAGES, Pages
from advisor.api.serializers.common import error_response
from advisor.api.serializers.hosts import (
    DrainRequestSerializer,
    HostDetailSerializer,
    HostPageSerializer,
    HostSerializer,
    InspectionRequestSerializer,
    InspectionSerializer,
    RetireRequestSerializer,
)
from advisor.api.serializers.shown import all_shown, shown
from benchmarks.inventory.device_lookup import DeviceRequest
from benchmarks.models import Host, Inspection
from tuning.results.known_hosts import hosts, known_hosts
from tuning.studies.draining import drain_host, undrain_host
from tuning.studies.inspecting import inspect_again, inspect_device, inspect_server
from tuning.studies.retiring import retire_host, unretire_host

NO_HOST = error_response("There is no such host.")


def _document(pk: int) -> dict[str, Any]:
    """One host. Raises Http404."""
    [known] = known_hosts([get_object_or_404(hosts(), pk=pk)])
    return shown(HostDetailSerializer, known)


class HostListView(APIView):
    @extend_schema(
        operation_id="list_hosts",
        summary="List all hosts by name: what each does, its queue, what is wrong",
        parameters=PAGES,
        responses={200: HostPageSerializer},
    )
    def get(self, request: Request) -> Response:
        pages = Pages("name")
        page = pages.rows(hosts(), request)
        return pages.answer(all_shown(HostSerializer, known_hosts(page)))


class HostDetailView(APIView):
    @extend_schema(
        operation_id="get_host",
        summary="One host",
        responses={200: HostDetailSerializer, 404: NO_HOST},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_document(pk))


_changes = Changes(
    "Changes a host; the response is the host afterwards.",
    Host.objects.all,
    _document,
    HostDetailSerializer,
    NO_HOST,
)
DrainView = _changes.view(
    drain_host,
    "drain_host",
    "Drain a host: it finishes its current job and takes nothing more",
    "`invalid_request`, `already_drained`.",
    DrainRequestSerializer,
)
UndrainView = _changes.view(
    undrain_host,
    "undrain_host",
    "Let a drained host take work again",
    "`not_drained`.",
    says_who=False,
)
RetireView = _changes.view(
    retire_host,
    "retire_host",
    "Retire a host: its studies end, nothing begins there, its history stays",
    "`invalid_request`, `already_retired`.",
    RetireRequestSerializer,
)
UnretireView = _changes.view(
    unretire_host,
    "unretire_host",
    "Let a retired host take work again",
    "`not_retired`.",
    says_who=False,
)


class InspectView(APIView):
    @extend_schema(
        operation_id="inspect_host",
        summary="Let a host look at what it has, or at one server or device; between two runs",
        parameters=[KEY],
        request=InspectionRequestSerializer,
        responses={
            202: InspectionSerializer,
            400: error_response(
                "`invalid_request`, `bad_request`, `not_listed`, `not_a_server`, "
                "`device_unusable`, `host_not_inspected`, `host_retired`, `host_busy`."
            ),
            404: NO_HOST,
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        host = get_object_or_404(Host, pk=pk)
        asked = InspectionRequestSerializer.of(request).validated_data
        once = IdempotentRequest(request)
        lists = caller_of(request).is_administrator
        made = once.make_quickly(lambda: _inspect(host, asked, lists=lists, user=request.user))
        row = Inspection.objects.select_related("host").get(pk=made)
        document = shown(InspectionSerializer, row)
        return created(
            request, "api-inspection-detail", made, document, status=202, headers=once.headers
        )


def _inspect(host: Host, asked: dict[str, Any], *, lists: bool, user: Any) -> Inspection:
    if "server" in asked:
        return inspect_server(host, asked["server"], lists=lists, user=user)
    if asked:
        path, log = asked.get("path"), asked.get("log_dir")
        device = DeviceRequest(
            path=Path(path) if path else None, log_dir=Path(log) if log else None
        )
        return inspect_device(host, device, lists=lists, user=user)
    return inspect_again(host, user=user)


class InspectionDetailView(APIView):
    @extend_schema(
        operation_id="get_inspection",
        summary="One inspection: what it waits for, or what the host found",
        responses={200: InspectionSerializer, 404: error_response("There is no such inspection.")},
    )
    def get(self, request: Request, pk: int) -> Response:
        rows = Inspection.objects.select_related("host")
        return Response(shown(InspectionSerializer, get_object_or_404(rows, pk=pk)))
