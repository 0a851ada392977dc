"""Costs of a config other than durability: what the catalogue says of its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tuning.catalogue.costs import Cost, CostKind
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import UNKNOWN, Expected, HostFacts
from tuning.configs.effective.variables import CAPACITY, DEDICATED, REDO, SIZE, has_capacity
from tuning.configs.values import fixed_default, same


@dataclass(frozen=True)
class KnobCost:
    """A value of a config and its cost."""

    name: str
    value: str
    cost: Cost

    @property
    def kind(self) -> CostKind:
        """The kind of the cost."""
        return self.cost.kind

    @property
    def loses(self) -> str:
        """The loss, in words."""
        return self.cost.loses

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
            found += [KnobCost(name, value, cost) for cost in knob.costs if cost.matches(value)]
    return found + _of_redo(knobs, target, host, redo_bytes)


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


def _of_redo(
    knobs: Mapping[str, str], target: ServerTraits, host: HostFacts, seen: int | None
) -> list[KnobCost]:
    names = [name for name in (*REDO, DEDICATED) if name in knobs]
    if not names:
        return []
    redo = Expected(knobs, target, host).redo()
    if names == [DEDICATED] and seen is not None:
        redo = seen
    rules = load_catalogue().knobs[CAPACITY if has_capacity(target) else SIZE].costs
    return [
        KnobCost(names[0], knobs[names[0]], cost)
        for cost in rules
        if redo is not None and cost.matches(f"{redo}")
    ]
