"""The facts of a server variable in one flavour, by version.

The tests check that the facts of `knobs.yaml` fit together and have evidence.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field, PlainValidator, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Number, distinct
from tuning.catalogue.target import Version, read_release

T = TypeVar("T")


def _pairs(written: object) -> object:
    return tuple(written.items()) if isinstance(written, dict) else written


#: Values by the version from which each holds, in order; in a file {"5.7": 200, ...}.
Timeline = Annotated[
    tuple[tuple[Annotated[Version, PlainValidator(read_release)], T], ...],
    BeforeValidator(_pairs),
    Field(min_length=1),
]


def at(timeline: Timeline[T], version: Version) -> T | None:
    """The value at `version`; before the first entry the first one, without any None."""
    found = timeline[0][1] if timeline else None
    for since, value in timeline:
        if since <= version:
            found = value
    return found


def reached(version: Version, releases: tuple[Version, ...]) -> bool:
    """Whether `version` has a change that was introduced in `releases`.

    A change in several branches names the first release of each: 10.11.12 and 11.4.6 mean that
    11.2.9 does not have it, although the number is higher.
    """
    return any(version[:2] == release[:2] and version >= release for release in releases) or bool(
        releases and version >= max(releases)
    )


#: The name of a variable: lower case, underscores.
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
Word = Annotated[str, BeforeValidator(lambda word: f"{word}" if type(word) is int else word)]
Words = Annotated[tuple[Word, ...], Field(min_length=2), distinct()]
Values = Annotated[frozenset[str], Field(min_length=1)]
#: B seen on the server program, S read in its source or documentation, M from memory.
Evidence = Literal["B", "S", "M"]


class Dynamic(StrEnum):
    """How a variable can be changed on a running server."""

    RESTART = "restart"
    GLOBAL = "global"
    SESSION = "session"
    PARTLY = "partly"
    NO_EFFECT = "no-effect"


@dataclass(frozen=True, config=STRICT)
class Computed:
    """A default that the server computes at start.

    `rule` describes how, for people; `of` are the variables that it is computed from.
    """

    rule: Text
    of: tuple[str, ...] = ()


Default = str | Computed | None


class Limits(NamedTuple):
    """Smallest and largest value that the server accepts unchanged."""

    low: Annotated[Number, Field(ge=0)]
    high: Annotated[Number, Field(ge=0)]


def _default(written: object) -> Default:
    match written:
        case None:
            return None
        case {"auto": str(rule), "of": list(names), **others} if rule and not others:
            return Computed(rule, tuple(names))
        case {"auto": str(rule), **others} if rule and not others:
            return Computed(rule)
        case float():
            return f"{written:g}"
        case int() | str() if written != "" and not isinstance(written, bool):
            return f"{written}".strip()
    raise ValueError("a default must be text, a number, null (unset) or {auto: rule, of: [names]}")


def _releases(written: object) -> tuple[Version, ...]:
    return tuple(
        read_release(one) for one in (written if isinstance(written, list) else [written])
    )


#: One release, or the first of each of several branches.
Releases = Annotated[tuple[Version, ...], PlainValidator(_releases)]


@dataclass(frozen=True, config=STRICT)
class Facts:
    """A variable in one flavour. Without `default` it does not exist there or was removed."""

    added: Releases = ()
    deprecated: Releases = ()
    ignored: Releases = ()
    removed: Releases = ()
    tolerated: StrictBool = False
    successor: Name | None = None
    default: Timeline[Annotated[Default, PlainValidator(_default)]] = ()
    limits: Timeline[Limits] = Field(default=(), validation_alias="range")
    values: Timeline[Words] = ()
    dynamic: Timeline[Dynamic] = ()
    shown_as: Timeline[Name] = ()
    note: Text = ""
    evidence: Frozen[str, Evidence] = Field(default_factory=dict)

    def present_in(self, version: Version) -> bool:
        """Whether servers of that version have the variable."""
        if not self.default or reached(version, self.removed):
            return False
        return not self.added or reached(version, self.added)
