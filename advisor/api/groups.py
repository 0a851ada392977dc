"""Studies over several hosts."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from advisor.api.once import Key, create_once
from advisor.api.paging import Page, PageQuery, page_of
from advisor.api.schemas import studies as schemas
from advisor.api.studies import studies
from tuning.creation import groups as services
from tuning.models import StudyGroup
from tuning.requests.study import GroupRequest

router = Router(tags=["groups"])


def groups() -> QuerySet[StudyGroup]:
    """Return all groups, with their studies in the order of the hosts."""
    by_host = studies().order_by("host__name", "pk")
    return StudyGroup.objects.prefetch_related(Prefetch("studies", by_host))


@router.get("groups/", response=Page[schemas.GroupRow], url_name="group-list")
def list_groups(request: HttpRequest, query: Query[PageQuery]) -> Any:
    """List the studies over several hosts, newest first."""
    return page_of(groups().order_by("-pk"), query)


@router.post("groups/", response={201: schemas.GroupDetail}, url_name="group-list")
def create_group(request: HttpRequest, body: GroupRequest, key: Key = None) -> StudyGroup:
    """Start a study on each of several hosts, or on none of them."""
    made = create_once(
        StudyGroup,
        request,
        key,
        lambda keep: services.create_group(body, user=request.user, also=keep),
    )
    return get_object_or_404(groups(), pk=made.pk)


@router.get("groups/{int:pk}/", response=schemas.GroupDetail, url_name="group-detail")
def get_group(request: HttpRequest, pk: int) -> StudyGroup:
    """A study over several hosts with its progress on each."""
    return get_object_or_404(groups(), pk=pk)
