"""The REST API, version 1: studies over several hosts."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.changes import Changes
from advisor.api.created import created
from advisor.api.idempotency import KEY, IdempotentRequest
from advisor.api.listing import PAGES, Pages
from advisor.api.serializers.common import error_response
from advisor.api.serializers.shown import shown
from advisor.api.serializers.studies import (
    StudyGroupPageSerializer,
    StudyGroupSerializer,
    StudyGroupStateSerializer,
)
from advisor.api.views import studies
from tuning.actions.fields import ReasonFields
from tuning.models import StudyGroup
from tuning.requests.fields import read_request
from tuning.requests.study import GroupRequest
from tuning.studies.groups import cancel_group, create_group, pause_group, resume_group

NO_GROUP = error_response("There is no such study over several hosts.")


def _groups() -> QuerySet[StudyGroup]:
    by_host = studies().order_by("host__name", "pk")
    return StudyGroup.objects.prefetch_related(Prefetch("studies", by_host))


def _state(pk: int) -> dict[str, Any]:
    """One group with the progress of its studies. Raises Http404."""
    return shown(StudyGroupStateSerializer, get_object_or_404(_groups(), pk=pk))


class StudyGroupListView(APIView):
    @extend_schema(
        operation_id="list_study_groups",
        summary="List the studies over several hosts, newest first",
        parameters=PAGES,
        responses={200: StudyGroupPageSerializer},
    )
    def get(self, request: Request) -> Response:
        return Pages().listed(_groups(), request, StudyGroupSerializer)

    @extend_schema(
        operation_id="create_study_group",
        summary="Start a study on each of several hosts, or on none of them",
        parameters=[KEY],
        request=GroupRequest,
        responses={
            201: StudyGroupStateSerializer,
            400: error_response("Refused, nothing was stored. `invalid_config` lists the lines."),
        },
    )
    def post(self, request: Request) -> Response:
        body, once = read_request(GroupRequest, request.data), IdempotentRequest(request)
        pk = once.make(lambda keep: create_group(body, user=request.user, also=keep))
        return created(request, "api-group-detail", pk, _state(pk), headers=once.headers)


class StudyGroupDetailView(APIView):
    @extend_schema(
        operation_id="get_study_group",
        summary="A study over several hosts with its progress on each",
        responses={200: StudyGroupStateSerializer, 404: NO_GROUP},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(_state(pk))


_changes = Changes(
    "Changes the studies on all its hosts; the response is their state afterwards.",
    StudyGroup.objects.all,
    _state,
    StudyGroupStateSerializer,
    NO_GROUP,
)
PauseGroupView = _changes.view(
    pause_group,
    "pause_study_group",
    "Pause the studies on all its hosts after their current runs",
    "`invalid_request`, `already_paused`, `already_ended`.",
    ReasonFields,
)
ResumeGroupView = _changes.view(
    resume_group,
    "resume_study_group",
    "Continue the paused studies on all its hosts",
    "`not_paused`, `already_ended`, `device_retired`.",
)
CancelGroupView = _changes.view(
    cancel_group,
    "cancel_study_group",
    "Cancel the studies on all its hosts within seconds; results are kept",
    "`already_ended`.",
)
