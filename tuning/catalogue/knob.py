"""One knob: what is known about a server variable, by flavour and version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.servers.binary import Flavour
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits, Version
from tuning.catalogue.timeline import Timeline, reached


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


class Dynamic(StrEnum):
    """What it takes to change a variable on a running server."""

    RESTART = "restart"
    GLOBAL = "global"
    SESSION = "session"
    PARTLY = "partly"
    NO_EFFECT = "no-effect"


class Durability(StrEnum):
    """D0 loses nothing, D1 may lose the last commits, D2 may corrupt; ordered as text."""

    D0 = "D0"
    D1 = "D1"
    D2 = "D2"


@dataclass(frozen=True)
class Computed:
    """A default that the server works out at start; `rule` says how, in words."""

    rule: str


Default = str | Computed | None


@dataclass(frozen=True)
class Limits:
    """Smallest and largest value that the server takes as it is."""

    low: float
    high: float


class Of(StrEnum):
    """What a figure is a factor of, where people think of it that way."""

    MEMORY = "memory"
    CORES = "cores"
    DATA = "data"


@dataclass(frozen=True)
class WorthTesting:
    """The part of a range, or the words, that `source` gives a reason to try.

    `low` and `high` are values, or factors of `of`; words leave both None.
    """

    source: str
    of: Of | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()

    def bounds(self, resources: HostResources) -> tuple[float, float] | None:
        """Smallest and largest value on that host, not yet held to any server's limits."""
        if self.low is None or self.high is None:
            return None
        unit: float = 1
        if self.of is not None:
            unit = {
                Of.MEMORY: resources.memory_bytes,
                Of.CORES: resources.logical_cpus,
                Of.DATA: resources.data_bytes,
            }[self.of]
        return self.low * unit, self.high * unit


@dataclass(frozen=True)
class DurabilityRule:
    """Values that put a config below D0, and what is lost with them.

    It matches a value in `values`, one not in `not_values`, or a number above `above`; and only
    where every knob in `only_with` has one of the values named there.
    """

    durability: Durability
    loses: str
    values: frozenset[str] = frozenset()
    not_values: frozenset[str] = frozenset()
    above: float | None = None
    only_with: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def matches(self, value: str, knobs: Mapping[str, str]) -> bool:
        """Whether `value` is such a value, beside the other normalised `knobs`."""
        if any(knobs.get(name) not in allowed for name, allowed in self.only_with.items()):
            return False
        if self.above is not None:
            return float(value) > self.above
        return value in self.values or (bool(self.not_values) and value not in self.not_values)


@dataclass(frozen=True)
class Facts:
    """A variable in one flavour. Without `default` it is absent there or has gone."""

    added: tuple[Version, ...] = ()
    deprecated: tuple[Version, ...] = ()
    ignored: tuple[Version, ...] = ()
    removed: tuple[Version, ...] = ()
    tolerated: bool = False
    successor: str | None = None
    default: Timeline[Default] = field(default_factory=Timeline)
    limits: Timeline[Limits] = field(default_factory=Timeline)
    values: Timeline[tuple[str, ...]] = field(default_factory=Timeline)
    dynamic: Timeline[Dynamic] = field(default_factory=Timeline)
    shown_as: Timeline[str] = field(default_factory=Timeline)
    note: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)

    def present_in(self, version: Version) -> bool:
        """Whether servers of that version have the variable."""
        if not self.default or reached(version, self.removed):
            return False
        return not self.added or reached(version, self.added)


@dataclass(frozen=True)
class Knob:
    """A server variable; values are as SHOW VARIABLES prints them, bytes as plain numbers."""

    name: str
    does: str
    group: str
    kind: Kind
    unit: str = ""
    set_by: SetBy | None = None
    pattern: str = ""
    new_data_dir: bool = False
    worth_testing: tuple[WorthTesting, ...] = ()
    durability: tuple[DurabilityRule, ...] = ()
    durability_evidence: str = ""
    notes: tuple[str, ...] = ()
    flavours: Mapping[Flavour, Facts] = field(default_factory=dict)

    def facts(self, target: ServerTraits) -> Facts:
        """What is known for the target's flavour (empty facts where it never existed)."""
        return self.flavours.get(target.flavour, Facts())

    def exists_in(self, target: ServerTraits) -> bool:
        """Whether the target has the variable."""
        return self.facts(target).present_in(target.version)

    def default(self, target: ServerTraits) -> Default:
        """Default of the target: a value, Computed, or None for unset."""
        return self.facts(target).default.at(target.version)

    def limits(self, target: ServerTraits) -> Limits | None:
        """Range of a number, where it is known."""
        return self.facts(target).limits.at(target.version)

    def values(self, target: ServerTraits) -> tuple[str, ...]:
        """Allowed values in the server's spelling; () means that any is."""
        return self.facts(target).values.at(target.version) or ()

    def dynamic(self, target: ServerTraits) -> Dynamic | None:
        """What a change takes, where it is known."""
        return self.facts(target).dynamic.at(target.version)

    def variable(self, target: ServerTraits) -> str:
        """The name in SHOW VARIABLES, which may not be the option's."""
        return self.facts(target).shown_as.at(target.version) or self.name
