"""Hosts, their golden datasets and their inspections."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from advisor.access.callers import caller_of
from advisor.api.paging import Page, PageQuery, page_of
from advisor.api.schemas import hosts as schemas
from benchmarks import models
from tuning.hosts.commands import inspect_again, inspect_device, inspect_server
from tuning.hosts.known import KnownHost, hosts, known_hosts
from tuning.requests.device import DeviceRequest, InspectionRequest
from tuning.studies.datasets import Kept, noted_datasets

router = Router(tags=["hosts"])


def _known(pk: int) -> KnownHost:
    [known] = known_hosts([_host(pk)])
    return known


def _host(pk: int) -> models.Host:
    return get_object_or_404(hosts(), pk=pk)


@router.get("hosts/", response=Page[schemas.Host], url_name="host-list")
def list_hosts(request: HttpRequest, query: Query[PageQuery]) -> Any:
    """List all hosts by name: what each does, its queue, what is wrong."""
    return page_of(hosts(), query, known_hosts)


@router.get("hosts/{int:pk}/", response=schemas.HostDetail, url_name="host-detail")
def get_host(request: HttpRequest, pk: int) -> KnownHost:
    """One host and what it has."""
    return _known(pk)


@router.post(
    "hosts/{int:pk}/inspections/",
    response={202: schemas.InspectionAnswer},
    url_name="inspection-list",
)
def start_inspection(request: HttpRequest, pk: int, body: InspectionRequest) -> models.Inspection:
    """Let a host look at all that it has, or at one server or device, between two runs."""
    host, user = _host(pk), request.user
    lists = caller_of(request).is_administrator
    if body.server:
        return inspect_server(host, str(body.server), lists=lists, user=user)
    if body.path or body.log_dir:
        device = DeviceRequest(path=body.path, log_dir=body.log_dir)
        return inspect_device(host, device, lists=lists, user=user)
    return inspect_again(host, user=user)


@router.get(
    "inspections/{int:pk}/", response=schemas.InspectionAnswer, url_name="inspection-detail"
)
def get_inspection(request: HttpRequest, pk: int) -> models.Inspection:
    """One inspection: what it waits for, or what the host found."""
    return get_object_or_404(models.Inspection.objects.select_related("host"), pk=pk)


@router.get("hosts/{int:pk}/datasets/", response=list[schemas.Dataset], url_name="host-datasets")
def list_datasets(request: HttpRequest, pk: int) -> list[Kept]:
    """The golden datasets of a host, as it noted them between two jobs."""
    return noted_datasets(_host(pk))
