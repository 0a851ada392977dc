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
from tuning.requests.device import DeviceRequest, InspectionRequest
from tuning.results.known_hosts import KnownHost, hosts, known_hosts
from tuning.studies import host_state
from tuning.studies.datasets import Kept, noted_datasets
from tuning.studies.inspecting import inspect_again, inspect_device, inspect_server
from tuning.studies.tidying import ask_to_delete, ask_to_prune

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


@router.post("hosts/{int:pk}/drain/", response=schemas.HostDetail, url_name="host-drain")
def drain_host(request: HttpRequest, pk: int, body: schemas.ReasonBody | None = None) -> KnownHost:
    """Let a host finish its current job and take nothing more."""
    reason = body.reason if body else ""
    host_state.drain_host(_host(pk), reason=reason, by=request.user.get_username())
    return _known(pk)


@router.post("hosts/{int:pk}/undrain/", response=schemas.HostDetail, url_name="host-undrain")
def undrain_host(request: HttpRequest, pk: int) -> KnownHost:
    """Let a drained host take work again."""
    host_state.undrain_host(_host(pk))
    return _known(pk)


@router.post("hosts/{int:pk}/retire/", response=schemas.HostDetail, url_name="host-retire")
def retire_host(
    request: HttpRequest, pk: int, body: schemas.ReasonBody | None = None
) -> KnownHost:
    """Retire a host: its studies end, nothing begins there, its history stays."""
    reason = body.reason if body else ""
    host_state.retire_host(_host(pk), reason=reason, by=request.user.get_username())
    return _known(pk)


@router.post("hosts/{int:pk}/unretire/", response=schemas.HostDetail, url_name="host-unretire")
def unretire_host(request: HttpRequest, pk: int) -> KnownHost:
    """Let a retired host take work again."""
    host_state.unretire_host(_host(pk))
    return _known(pk)


@router.post(
    "hosts/{int:pk}/inspect/", response={202: schemas.InspectionAnswer}, url_name="host-inspect"
)
def inspect_host(
    request: HttpRequest, pk: int, body: InspectionRequest | None = None
) -> models.Inspection:
    """Let a host look at all that it has, or at one server or device, between two runs."""
    host, user = _host(pk), request.user
    lists = caller_of(request).is_administrator
    if body is None or not (body.server or body.path or body.log_dir):
        return inspect_again(host, user=user)
    if body.server:
        return inspect_server(host, str(body.server), lists=lists, user=user)
    device = DeviceRequest(path=body.path, log_dir=body.log_dir)
    return inspect_device(host, device, lists=lists, user=user)


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


@router.post(
    "hosts/{int:pk}/datasets/delete/",
    response={202: schemas.InspectionAnswer},
    url_name="dataset-delete",
)
def delete_dataset(
    request: HttpRequest, pk: int, body: schemas.DeleteDatasetBody
) -> models.Inspection:
    """Let a host delete a golden dataset between two runs."""
    return ask_to_delete(_host(pk), key=body.name, user=request.user)


@router.post(
    "hosts/{int:pk}/datasets/prune/",
    response={202: schemas.InspectionAnswer},
    url_name="dataset-prune",
)
def prune_datasets(request: HttpRequest, pk: int) -> models.Inspection:
    """Let a host delete unused golden datasets, and those of servers that are gone."""
    return ask_to_prune(_host(pk), user=request.user)
