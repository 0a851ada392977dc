"""The facts of a server variable in one flavour, by version."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Frozen, Number, distinct
from tuning.catalogue.target import Version, read_release
from tuning.catalogue.timeline import Timeline, reached

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
        case bool() | "":
            pass
        case None:
            return None
        case float():
            return f"{written:g}"
        case {"auto": str(rule), **others} if rule and not others:
            return Computed(rule)
        case {"auto": str(rule), "of": list(names), **others} if rule and not others:
            return Computed(rule, tuple(names))
        case int() | str():
            return f"{written}".strip()
    raise ValueError("a default must be text, a number, null (unset) or {auto: rule, of: [names]}")


def _releases(written: object) -> tuple[Version, ...]:
    entries = written if isinstance(written, list) and len(written) > 1 else [written]
    return tuple(release for release, _ in Timeline((read_release(one), 0) for one in entries))


def _ascend(limits: Limits) -> Limits:
    if limits.low >= limits.high:
        raise ValueError("the first value of a range must be below the second")
    return limits


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
    default: Timeline[Annotated[Default, PlainValidator(_default)]] = Field(
        default_factory=Timeline
    )
    limits: Timeline[Annotated[Limits, AfterValidator(_ascend)]] = Field(
        default_factory=Timeline, validation_alias="range"
    )
    values: Timeline[Words] = Field(default_factory=Timeline)
    dynamic: Timeline[Dynamic] = Field(default_factory=Timeline)
    shown_as: Timeline[Name] = Field(default_factory=Timeline)
    note: Text = ""
    evidence: Frozen[str, Evidence] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        """Every stated group of facts, and no other, must have evidence."""
        releases = (self.added, self.deprecated, self.ignored, self.removed)
        stated = {
            "lifecycle": any(releases) or self.tolerated or self.successor,
            "default": self.default,
            "range": self.limits,
            "values": self.values,
            "dynamic": self.dynamic,
        }
        if lacking := sorted(self.evidence.keys() ^ {name for name in stated if stated[name]}):
            raise ValueError(f"facts and evidence do not match for {', '.join(lacking)}")
        if bool(self.default) != bool(self.dynamic):
            raise ValueError("`default` and `dynamic` must be given together")

    def present_in(self, version: Version) -> bool:
        """Whether servers of that version have the variable."""
        if not self.default or reached(version, self.removed):
            return False
        return not self.added or reached(version, self.added)
