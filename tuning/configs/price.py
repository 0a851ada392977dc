"""The price of a config by the catalogue's rules: its durability class, and other costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import UNKNOWN, Expected, HostFacts
from tuning.configs.values import fixed_default, same
from tuning.configs.variables import (
    CAPACITY,
    DEDICATED,
    FLUSH_METHOD,
    REDO,
    SIZE,
    dedicated_chooses_flush,
    has_capacity,
)

_CHOSEN_BY_DEDICATED = "O_DIRECT_NO_FSYNC"


def losses(
    knobs: Mapping[str, str], target: ServerTraits | None = None
) -> dict[str, tuple[Durability, str]]:
    """Class and possible loss of every normalised knob below D0.

    With a `target`, `knobs` must be a complete config: an unsafe value that the server chooses by
    itself is attributed to the knob that makes it choose.
    """
    found: dict[str, tuple[Durability, str]] = {}
    for name, value in knobs.items():
        knob = load_catalogue().get(name)
        for rule in knob.durability if knob else ():
            if rule.matches(value, knobs):
                found[name] = (rule.durability, rule.loses)
    if target is not None and leaves_out_fsync(knobs, target):
        for rule in load_catalogue().knobs[FLUSH_METHOD].durability:
            if rule.matches(_CHOSEN_BY_DEDICATED, knobs):
                loses = f"{rule.loses} ({target} chooses {_CHOSEN_BY_DEDICATED} with it)"
                found[DEDICATED] = (rule.durability, loses)
    return found


def durability_of(knobs: Mapping[str, str], target: ServerTraits | None = None) -> Durability:
    """The class of a set of normalised knobs: that of its least safe value.

    With a `target`, values that this server chooses because of them count as well.
    """
    return max((given for given, _ in losses(knobs, target).values()), default=Durability.D0)


def too_unsafe(
    knobs: Mapping[str, str], allowed: Durability, target: ServerTraits | None = None
) -> list[tuple[str, str]]:
    """(name, reason) of every normalised knob that a study of that class may not have."""
    return [
        (
            name,
            f"{knobs[name]} may lose {loses}: class {given}, but only {allowed} is allowed"
            + (f"; set {FLUSH_METHOD} = O_DIRECT" if name == DEDICATED else ""),
        )
        for name, (given, loses) in losses(knobs, target).items()
        if given > allowed
    ]


def leaves_out_fsync(knobs: Mapping[str, str], target: ServerTraits) -> bool:
    """Whether the server itself chooses O_DIRECT_NO_FSYNC with these normalised knobs.

    MySQL 8.0 does if innodb_dedicated_server is ON and no flush method is set.
    """
    return (
        knobs.get(DEDICATED) == "ON"
        and FLUSH_METHOD not in knobs
        and dedicated_chooses_flush(target)
    )


def may_lose(name: str, value: str, lost: tuple[Durability, str], remark: str = "") -> str:
    """ "sync_binlog = 0 may lose ... (D1)", the wording of all files and pages."""
    given, loses = lost
    return f"{name} = {value}{remark} may lose {loses} ({given})"


@dataclass(frozen=True)
class KnobCost:
    """A value of a config, and what it costs besides durability; `loses` is in words."""

    name: str
    value: str
    kind: CostKind
    loses: str

    @property
    def text(self) -> str:
        """ "performance_schema = OFF costs observability: ..."."""
        return f"{self.name} = {self.value} costs {self.kind}: {self.loses}"


def costs_of(
    knobs: Mapping[str, str],
    target: ServerTraits,
    host: HostFacts = UNKNOWN,
    *,
    redo_bytes: int | None = None,
) -> list[KnobCost]:
    """The costs of normalised knobs, in their order; nothing for what the server has by itself.

    A redo log counts with all its files, also where the server sizes it itself: by `redo_bytes`
    where that was read back, else by what is known of the host.
    """
    found = []
    for name, value in knobs.items():
        knob = load_catalogue().get(name)
        if knob is None or not knob.costs or name in REDO:
            continue
        default = fixed_default(knob, target)
        if default is None or not same(default, value):
            found += [
                KnobCost(name, value, cost.kind, cost.loses)
                for cost in knob.costs
                if cost.matches(value)
            ]
    names = [name for name in (*REDO, DEDICATED) if name in knobs]
    redo = Expected(knobs, target, host).redo() if names else None
    if names == [DEDICATED] and redo_bytes is not None:
        redo = redo_bytes
    if redo is not None:
        rules = load_catalogue().knobs[CAPACITY if has_capacity(target) else SIZE].costs
        found += [
            KnobCost(names[0], knobs[names[0]], cost.kind, cost.loses)
            for cost in rules
            if cost.matches(f"{redo}")
        ]
    return found


def forbidden_costs(
    knobs: Mapping[str, str],
    target: ServerTraits,
    allowed: Collection[CostKind],
    host: HostFacts = UNKNOWN,
) -> list[KnobCost]:
    """The costs that are not of an allowed kind."""
    return [one for one in costs_of(knobs, target, host) if one.kind not in allowed]


def free_redo_bytes() -> int:
    """The largest redo log, all files together, that has no cost."""
    limits = (cost.above for cost in load_catalogue().knobs[CAPACITY].costs)
    return int(min(limit for limit in limits if limit is not None))
