"""One knob: the facts about a server variable, by flavour and version."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, model_validator
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Number, Some
from benchmarks.servers.binary import Flavour
from tuning.catalogue.costs import Cost
from tuning.catalogue.facts import (
    Default,
    Dynamic,
    Evidence,
    Facts,
    Limits,
    Name,
    Text,
    Values,
    Words,
    at,
)
from tuning.catalogue.resources import HostResources, Resource, Scales
from tuning.catalogue.target import ServerTraits


class Kind(StrEnum):
    """How a value is written and compared."""

    BYTES = "bytes"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    ENUM = "enum"
    STRING = "string"
    PATH = "path"
    FLAG = "flag"


class SetBy(StrEnum):
    """Who sets a catalogued variable that is not a knob."""

    ADVISOR = "advisor"
    STUDY = "study"


class Durability(StrEnum):
    """D0 loses nothing, D1 may lose the last commits, D2 may corrupt; ordered as text."""

    D0 = "D0"
    D1 = "D1"
    D2 = "D2"


@dataclass(frozen=True, config=STRICT)
class WorthTesting:
    """The part of a range, or the words, for which `source` gives a reason to test them.

    `low` and `high` are values, or factors of `of`; both are None for words.
    """

    source: Annotated[str, Field(min_length=5)]
    of: Resource | None = None
    low: Annotated[Number, Field(ge=0)] | None = Field(default=None, validation_alias="from")
    high: Annotated[Number, Field(gt=0)] | None = Field(default=None, validation_alias="to")
    values: Words = ()

    def bounds(self, resources: HostResources) -> tuple[float, float] | None:
        """Smallest and largest value on that host, before the limits of a server are applied."""
        if self.low is None or self.high is None:
            return None
        unit = resources.amount(self.of) if self.of is not None else 1
        return self.low * unit, self.high * unit


@dataclass(frozen=True, config=STRICT)
class AtMost:
    """The variable that a value may not exceed, and which of the two a search changes to fit."""

    knob: Name
    moves: Literal["lower", "upper"] = "lower"


@dataclass(frozen=True, config=STRICT)
class DurabilityRule:
    """Values that put a config below D0, and what they may lose.

    It matches a value in `values`, one not in `not_values`, or a number above `above`, and only if
    every knob in `only_with` has one of the values named there.
    """

    durability: Annotated[Literal[Durability.D1, Durability.D2], Field(validation_alias="class")]
    loses: Text
    values: Values = frozenset()
    not_values: Values = frozenset()
    above: Number | None = None
    only_with: Frozen[Name, Values] = Field(default_factory=dict)

    def matches(self, value: str, knobs: Mapping[str, str]) -> bool:
        """Whether the rule applies to `value`, given the other normalised `knobs`."""
        if any(knobs.get(name) not in allowed for name, allowed in self.only_with.items()):
            return False
        if self.above is not None:
            return float(value) > self.above
        return value in self.values or (bool(self.not_values) and value not in self.not_values)


_NO_FACTS = Facts()


def _as_mysql(own: object, mysql: object) -> object:
    match own, mysql:
        case {"as": "mysql", **said}, {**facts} if own is not mysql:
            # A fact verified on MySQL's binary counts only as source for Percona Server.
            known, more = facts.get("evidence"), said.get("evidence", {})
            if isinstance(known, dict) and isinstance(more, dict):
                known = {group: "S" if found == "B" else found for group, found in known.items()}
                said["evidence"] = known | more
            return facts | said
        case {"as": _}, _:
            raise ValueError("`as` copies the facts of mysql, which are missing")
    return own


@dataclass(frozen=True, config=STRICT)
class Knob:
    """A server variable; values are as SHOW VARIABLES prints them, bytes as plain numbers.

    search: its place in the order in which knobs get into the space of a search; 0: only if named.
    watch: what to watch on a running server after a change.
    equals: another variable with the same meaning, which a successor may not have.
    """

    name: Name
    does: Annotated[str, Field(min_length=10, pattern=r"\.$")]
    group: Annotated[str, Field(min_length=2)]
    kind: Annotated[Kind, Field(validation_alias="type")]
    unit: Annotated[str, Field(min_length=2)] = ""
    scales: Scales | None = None
    set_by: SetBy | None = None
    pattern: Text = ""
    new_data_dir: StrictBool = False
    search: StrictInt = 0
    watch: Text = ""
    equals: Text = ""
    at_most: AtMost | None = None
    worth_testing: Some[WorthTesting] = ()
    durability: Some[DurabilityRule] = ()
    durability_evidence: Evidence | None = None
    costs: Some[Cost] = ()
    notes: Some[Annotated[str, Field(min_length=5)]] = ()
    mysql: Facts | None = None
    percona: Facts | None = None
    mariadb: Facts | None = None

    @model_validator(mode="before")
    @classmethod
    def _take_over(cls, content: object) -> object:
        """`as: mysql` under a flavour copies MySQL's facts, unless it states its own."""
        if not isinstance(content, dict):
            return content
        named = {one: content[one] for one in Flavour if one in content}
        if bare := [flavour for flavour, facts in named.items() if not facts]:
            raise ValueError(f"{', '.join(bare)} without facts")
        mysql = content.get(Flavour.MYSQL)
        return content | {name: _as_mysql(facts, mysql) for name, facts in named.items()}

    @property
    def flavours(self) -> Mapping[Flavour, Facts]:
        """The flavours that have or had it, with their facts."""
        named: dict[Flavour, Facts | None] = {one: getattr(self, one) for one in Flavour}
        return {flavour: facts for flavour, facts in named.items() if facts is not None}

    def facts(self, target: ServerTraits) -> Facts:
        """The facts of the target's flavour (empty if it never existed there)."""
        found: Facts | None = getattr(self, target.flavour)
        return found or _NO_FACTS

    def exists_in(self, target: ServerTraits) -> bool:
        """Whether the target has the variable."""
        return self.facts(target).present_in(target.version)

    def default(self, target: ServerTraits) -> Default:
        """Default of the target: a value, Computed, or None if unset."""
        return at(self.facts(target).default, target.version)

    def limits(self, target: ServerTraits) -> Limits | None:
        """Range of a number, if known."""
        return at(self.facts(target).limits, target.version)

    def values(self, target: ServerTraits) -> tuple[str, ...]:
        """Allowed values in the server's spelling; () means any."""
        return at(self.facts(target).values, target.version) or ()

    def dynamic(self, target: ServerTraits) -> Dynamic | None:
        """How the variable can be changed, if known."""
        return at(self.facts(target).dynamic, target.version)

    def variable(self, target: ServerTraits) -> str:
        """The name in SHOW VARIABLES, which may differ from the option's."""
        return at(self.facts(target).shown_as, target.version) or self.name
