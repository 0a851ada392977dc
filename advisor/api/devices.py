"""Devices and their probes."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from advisor.api.paging import Page, PageQuery, page_of, without_bulk
from advisor.api.schemas import devices as schemas
from benchmarks.models import Device, Probe
from tuning.creation.devices import register_device as register
from tuning.hosts.known import KnownDevice, known_devices
from tuning.requests.device import DeviceRequest

router = Router(tags=["devices"])


def devices() -> QuerySet[Device]:
    """Return all devices, without the bulky columns of their hosts."""
    return Device.objects.select_related("host").defer(*without_bulk("host"))


def _known(device: Device) -> KnownDevice:
    [known] = known_devices([device])
    return known


@router.get("devices/", response=Page[schemas.DeviceSummary], url_name="device-list")
def list_devices(request: HttpRequest, query: Query[PageQuery], host: str | None = None) -> Any:
    """List the devices of all hosts or of one, newest first, including retired ones."""
    rows = devices() if host is None else devices().filter(host__name=host)
    return page_of(rows.order_by("-pk"), query, known_devices)


@router.post("devices/", response={201: schemas.DeviceDetail}, url_name="device-list")
def register_device(request: HttpRequest, body: DeviceRequest) -> KnownDevice:
    """Inspect and register a device; an already registered one is returned."""
    return _known(register(body))


@router.get("devices/{int:pk}/", response=schemas.DeviceDetail, url_name="device-detail")
def get_device(request: HttpRequest, pk: int) -> KnownDevice:
    """One device: identity, newest probe, recommendations."""
    return _known(get_object_or_404(devices(), pk=pk))


@router.get("devices/{int:pk}/probes/", response=Page[schemas.ProbeSummary], url_name="probe-list")
def list_probes(request: HttpRequest, pk: int, query: Query[PageQuery]) -> Any:
    """List the probes of a device, newest first, without their results."""
    device = get_object_or_404(devices(), pk=pk)
    rows = device.probes.select_related("device").defer("result").order_by("-pk")
    return page_of(rows, query)


@router.get("probes/{int:pk}/", response=schemas.ProbeDetail, url_name="probe-detail")
def get_probe(request: HttpRequest, pk: int) -> Probe:
    """One probe: progress and result."""
    return get_object_or_404(Probe.objects.select_related("device"), pk=pk)
