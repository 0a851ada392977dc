"""Profiles of real servers."""

from __future__ import annotations

from datetime import datetime

from ninja import Field, Schema

from tuning.models import ServerProfile
from tuning.server_profile.figures import Figure, figures_of
from tuning.server_profile.profile import Profile
from tuning.studies.server_profiles import profile_of


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
