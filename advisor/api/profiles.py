"""Profiles of real servers: pasted outputs of the script, and what they say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema

from advisor.api.paging import Page, PageQuery, page_of
from advisor.api.schemas.common import Id
from tuning.models import ServerProfile, Study
from tuning.requests.configs import ProfileRequest
from tuning.server_profile.compare import ProfileComparison
from tuning.server_profile.figures import Figure, figures_of
from tuning.server_profile.profile import Profile
from tuning.studies.server_profiles import (
    ServerAnswer,
    compare_stored,
    create_profile,
    profile_of,
    server_answers,
)

router = Router(tags=["profiles"])


class ProfileRow(Schema):
    id: int
    name: str
    created_at: datetime
    server: str

    @staticmethod
    def resolve_server(row: ServerProfile) -> str:
        return str(profile_of(row).target)


class ProfileDetail(ProfileRow):
    profile: Profile = Field(description="All that was kept.")
    figures: list[Figure]

    @staticmethod
    def resolve_figures(row: ServerProfile) -> list[Figure]:
        return figures_of(profile_of(row))


@router.get("profiles/", response=Page[ProfileRow], url_name="profile-list")
def list_profiles(request: HttpRequest, query: Query[PageQuery]) -> Any:
    """List the profiles, newest first."""
    return page_of(ServerProfile.objects.all(), query)


@router.post("profiles/", response={201: ProfileDetail}, url_name="profile-list")
def add_profile(request: HttpRequest, body: ProfileRequest) -> ServerProfile:
    """Store the profile of the script's output; a refused output is not stored."""
    return create_profile(body, user=request.user)


@router.get("profiles/{int:pk}/", response=ProfileDetail, url_name="profile-detail")
def get_profile(request: HttpRequest, pk: int) -> ServerProfile:
    """A profile with its figures."""
    return get_object_or_404(ServerProfile, pk=pk)


@router.get("profile-comparison/", response=ProfileComparison, url_name="profile-comparison")
def compare_profiles(request: HttpRequest, before: Query[Id], after: Query[Id]) -> Any:
    """Return the differences between two profiles of one server; causes stay unknown."""
    return compare_stored(before, after)


@router.get(
    "studies/{int:pk}/server-steps/",
    response=list[ServerAnswer],
    url_name="server-steps",
)
def list_server_steps(request: HttpRequest, pk: int) -> list[ServerAnswer]:
    """Return the steps on the profiled server for each recommendation, in order."""
    study = get_object_or_404(Study.objects.select_related("server", "host"), pk=pk)
    return server_answers(study)
