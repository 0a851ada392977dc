"""The space of a search, from the catalogue, the server, the host and the user's request."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.expected import GIB, Expected
from tuning.configs.effective.variables import (
    CAPACITY,
    DEDICATED,
    POOL,
    REDO,
    SIZE,
    has_capacity,
)
from tuning.configs.gate.check import check_knobs
from tuning.errors import InvalidConfig
from tuning.search_space.priority import DEFAULT_COUNT, MAX_COUNT, PRIORITY
from tuning.search_space.ranges import dimension_of, why_not
from tuning.search_space.ruled import RULES, within_rules
from tuning.search_space.wish import BadSpace, Situation, Wish
from tuning.strategy.search.space import Space


def build_space(wish: Wish, situation: Situation) -> Space:
    """What the search may change.

    Raises BadSpace, with `field` below "search", where the wish names what the server does not
    have, contradicts itself, pins what the gate refuses or leaves nothing to search.
    """
    pinned = _pinned(wish, situation)
    count = _count(wish)
    dimensions = [
        one
        for knob in _chosen(wish, situation, pinned)
        if (one := dimension_of(knob, situation, wish.bounds.get(knob.name))) is not None
    ]
    if not wish.names:
        dimensions = dimensions[:count]
    names = {one.name for one in dimensions}
    if lacking := [name for name in wish.names if name not in names]:
        why = why_not(load_catalogue().knobs[lacking[0]], situation)
        raise BadSpace(
            "empty_space",
            f"{lacking[0]} has fewer than two values to try in this study"
            f"{f': {why}' if why else ''}; pin it or leave it out",
            field="search.knobs",
        )
    fixed = {name: value for name, value in wish.base.items() if name not in names} | pinned
    kept = tuple(within_rules(dimensions, fixed, wish, situation))
    if not kept:
        raise BadSpace(
            "empty_space", "nothing is left to search: every knob is pinned", field="search.knobs"
        )
    names = {one.name for one in kept}
    fixed = {name: value for name, value in wish.base.items() if name not in names} | pinned
    rules = tuple(rule for rule in RULES if {rule.lower, rule.upper} <= names)
    return Space(kept, fixed, rules)


def _pinned(wish: Wish, situation: Situation) -> dict[str, str]:
    """Normalised, through the gate."""
    for name in wish.pinned:
        _known(name, situation, f"search.pinned.{name}")
        if name in wish.bounds or name in wish.names:
            raise BadSpace(
                "bad_pin",
                f"{name} is pinned to {wish.pinned[name]} and also to be searched; choose one",
                field=f"search.pinned.{name}",
            )
    if not wish.pinned:
        return {}
    try:
        report = check_knobs(
            dict(wish.pinned),
            situation.target,
            source="pinned",
            durability=situation.durability,
            host=situation.host,
        )
    except InvalidConfig as error:
        first = error.problems[0]
        field = f"search.pinned.{first.name}" if first.name in wish.pinned else "search.pinned"
        raise BadSpace("bad_pin", f"{first.name}: {first.reason}", field=field) from None
    pinned = {name: report.knobs[name] for name in wish.pinned if name in report.knobs}
    redo = Expected(pinned, situation.target, situation.host).redo() or 0
    sized = [name for name in REDO if name in pinned]
    if sized and situation.free_bytes is not None and redo > situation.free_bytes:
        raise BadSpace(
            "bad_pin",
            f"{sized[0]}: a redo log of {redo / GIB:.1f} GiB does not fit on the device: "
            f"the data leaves {max(situation.free_bytes, 0) / GIB:.1f} GiB",
            field=f"search.pinned.{sized[0]}",
        )
    return pinned


def _known(name: str, situation: Situation, field: str) -> Knob:
    catalogue = load_catalogue()
    knob = catalogue.get(name)
    if knob is not None and knob.set_by is None and knob.exists_in(situation.target):
        return knob
    near = catalogue.closest(name, situation.target)
    hint = f"; did you mean {near}?" if near and near != name else ""
    raise BadSpace(
        "unknown_knob", f"{situation.target} has no knob {name} to search{hint}", field=field
    )


def _count(wish: Wish) -> int:
    asked = len({*wish.names, *wish.bounds})
    count = max(DEFAULT_COUNT, asked) if wish.count is None else wish.count
    if not 1 <= count <= MAX_COUNT or asked > MAX_COUNT:
        raise BadSpace("bad_count", f"a search takes 1 to {MAX_COUNT} knobs", field="search.knobs")
    if not wish.names and count < asked:
        message = f"{count} knobs are to be searched, but {asked} have bounds"
        raise BadSpace("bad_count", message, field="search.knobs")
    return count


def _chosen(wish: Wish, situation: Situation, pinned: Mapping[str, str]) -> list[Knob]:
    """The knobs by priority, or as named; those with bounds are always among them."""
    for name in wish.bounds:
        _known(name, situation, f"search.bounds.{name}")
    named = [_known(name, situation, "search.knobs") for name in dict.fromkeys(wish.names)]
    catalogue = load_catalogue()
    bounded = [catalogue.knobs[name] for name in wish.bounds if name not in wish.names]
    if named:
        return named + bounded
    there = {knob.name for knob in catalogue.tunable(situation.target)}
    gone = {SIZE if has_capacity(situation.target) else CAPACITY, *pinned, *wish.bounds}
    if pinned.get(DEDICATED, wish.base.get(DEDICATED)) == "ON":
        gone |= {POOL, CAPACITY}  # the server sizes these itself
    return bounded + [
        catalogue.knobs[name] for name in PRIORITY if name in there and name not in gone
    ]
