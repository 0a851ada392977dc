"""What the user wants of a space, and what can be wrong with that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.host import UNKNOWN, HostFacts
from tuning.errors import TuningError


class BadSpace(TuningError):
    """The space cannot be made: unknown_knob, bad_bounds, bad_pin, empty_space, bad_count."""


@dataclass(frozen=True)
class Wish:
    """How the user narrows the space.

    count: how many knobs, by their priority; None leaves it to the advisor. names: exactly these
    instead. pinned: values that every candidate has. bounds: (low, high) as a my.cnf has them, for
    a number. base: what the baseline sets; what the search does not change stays as it is there.
    """

    count: int | None = None
    names: tuple[str, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    base: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Situation:
    """The server, what it runs on, and what a candidate may give up.

    free_bytes: what is left on the device beside the data; None where that is not known.
    """

    target: ServerTraits
    resources: HostResources
    host: HostFacts = UNKNOWN
    durability: Durability = Durability.D0
    allowed: frozenset[CostKind] = frozenset()
    free_bytes: int | None = None
