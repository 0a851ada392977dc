"""Profiles of real servers."""

from __future__ import annotations

from datetime import datetime

from ninja import Field, Schema

from tuning.export.changes import ChangeMode
from tuning.models import ServerProfile
from tuning.server_profile.figures import figures_of
from tuning.server_profile.profile import Profile
from tuning.studies.server_profiles import profile_of


class Figure(Schema):
    name: str = Field(description="A stable word for programs.")
    title: str
    value: float | None = Field(description="Null: unknown, and `text` says why.")
    unit: str
    text: str = Field(description="The figure for people.")
    ever: str = Field(description="The mean since the server started; empty: not known.")
    is_tested: bool | None = Field(
        description="Whether TPC-C has such a load; null: the question makes no sense."
    )


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
    def resolve_figures(row: ServerProfile) -> object:
        return figures_of(profile_of(row))


class FigurePair(Schema):
    before: Figure
    after: Figure
    change: float | None = Field(description="After divided by before; null: unknown or zero.")
    per_statement: float | None = Field(description="The same for each statement; null: no rate.")


class ProfileComparison(Schema):
    settings: dict[str, tuple[str | None, str | None]] = Field(
        description="Variables that differ: their values before and after."
    )
    figures: list[FigurePair]
    limits: list[str] = Field(description="Why no difference shows a cause.")


class Step(Schema):
    name: str
    before: str | None = Field(description="The value that the profile read; null: not read.")
    value: str
    how: ChangeMode
    why: str = Field(description="Why it cannot be set on the running server; else empty.")
    sql: list[str] = Field(description="Statements for the running server.")
    cnf: str = Field(description="The line of a my.cnf.")
    back: list[str] = Field(description="What undoes it.")
    watch: str
    basis: str = Field(description="What was measured of the value, and what was computed.")


class ServerAnswer(Schema):
    recommendation: int
    candidate: str
    verdict: str
    keeps: bool = Field(description="Whether the server's own config is the recommendation.")
    steps: list[Step] = Field(description="In a safe order; those without a restart first.")
    apply: str = Field(description="SQL of the steps that need no restart.")
    back: str = Field(description="SQL that undoes it.")
    untested: list[str] = Field(description="Loads of the server that TPC-C does not have.")
    not_tested: list[str]
