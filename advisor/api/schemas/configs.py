"""Checked configs and proposals, and the body that carries a my.cnf."""

from __future__ import annotations

from typing import Annotated

from ninja import Field, Schema
from pydantic import AfterValidator

from advisor.api.schemas.common import Body
from advisor.wording.words import summary_of
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import parse_traits
from tuning.configs.line import Fate, Note
from tuning.configs.parse import MAX_CONFIG_BYTES
from tuning.creation.config_check import CheckedText
from tuning.errors import Problem
from tuning.requests.configs import ORIGIN_HELP
from tuning.requests.load import MAX_CONNECTIONS

TARGET_HELP = 'A server such as "mysql 8.4" or "mariadb 10.11.8".'


def _target(text: str | None) -> str | None:
    if text is not None:
        parse_traits(text)
    return text


#: Checked here, so that the error names the field.
Target = Annotated[str | None, AfterValidator(_target)]
Text = Annotated[str, Field(max_length=MAX_CONFIG_BYTES)]


class CheckBody(Body):
    """A my.cnf, and the server that reads it."""

    text: Text
    name: str = Field("my.cnf", max_length=100)
    host: str = Field("", max_length=255, description="Host whose server counts without `target`.")
    target: Target = Field(None, description=f"{TARGET_HELP} If omitted, that of the host.")
    translate_from: str = Field("", max_length=64, description=ORIGIN_HELP)
    connections: int | None = Field(None, ge=1, le=MAX_CONNECTIONS)


class Line(Schema):
    number: int = Field(description="Counted from 1.")
    name: str
    text: str = Field(description="The line as written.")
    value: str | None = Field(description="Null for an option without a value.")
    group: str = Field(description="The group that it is in, such as mysqld.")
    fate: Fate
    reason: str = Field(description="In words; empty where none is needed.")
    became: list[tuple[str, str]] = Field(description="The variables that a run sets.")
    replacement: str = Field(description="Of a translated line: the line for this server.")


class Cost(Schema):
    name: str
    value: str
    kind: CostKind
    loses: str = Field(description="The cost in words.")


class CheckedConfig(Schema):
    name: str = Field(alias="report.source")
    target: str
    is_fine: bool = Field(description="Whether a study would accept it.")
    summary: str = Field(description="The result in one sentence.")
    durability: Durability = Field(description="Class of the resulting config.")
    costs: list[Cost] = Field(description="Its costs other than durability.")
    lines: list[Line] = Field(alias="report.lines")
    problems: list[Problem] = Field(alias="report.problems")
    notes: list[Note] = Field(alias="report.notes")
    knobs: dict[str, str] = Field(alias="report.knobs")
    applied: dict[str, str] = Field(
        alias="report.applied", description="Harmless options, set in every run of a study."
    )
    my_cnf: str | None = Field(description="What a run sets; null if refused.")

    @staticmethod
    def resolve_target(checked: CheckedText) -> str:
        return str(checked.target)

    @staticmethod
    def resolve_is_fine(checked: CheckedText) -> bool:
        return not checked.report.problems

    @staticmethod
    def resolve_summary(checked: CheckedText) -> str:
        return summary_of(checked)

    @staticmethod
    def resolve_my_cnf(checked: CheckedText) -> str | None:
        return checked.cnf or None


class Proposal(Schema):
    """The advice of a set of rules."""

    name: str
    source: str
    knobs: dict[str, str]
    notes: list[Note] = Field(description="Why each line is there.")
    left_out: str = Field(description="Why it is not possible here; else empty.")
