"""The space of a search, from the catalogue, the server, the host and the user's request."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.variables import (
    CAPACITY,
    CLEANERS,
    DEDICATED,
    INSTANCES,
    IO_CAPACITY,
    IO_CEILING,
    POOL,
    SIZE,
    has_capacity,
)
from tuning.configs.gate.check import check_knobs
from tuning.errors import InvalidConfig
from tuning.search_space.priority import DEFAULT_COUNT, MAX_COUNT, PRIORITY
from tuning.search_space.ranges import dimension_of, fixed_number, narrowed
from tuning.search_space.wish import BadSpace, Situation, Wish
from tuning.strategy.search.space import Dimension, Rule, Space

RULES = (
    Rule(IO_CAPACITY, IO_CEILING, "upper"),
    Rule("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct", "lower"),
    Rule(CLEANERS, INSTANCES, "lower"),
)


def build_space(wish: Wish, situation: Situation) -> Space:
    """What the search may change.

    Raises BadSpace, with `field` below "search", where the wish names what the server does not
    have, contradicts itself, pins what the gate refuses or leaves nothing to search.
    """
    pinned = _pinned(wish, situation)
    dimensions = [
        one
        for knob in _chosen(wish, situation, pinned)
        if (one := dimension_of(knob, situation, wish.bounds.get(knob.name))) is not None
    ]
    if not wish.names:
        dimensions = dimensions[: _count(wish)]
    names = {one.name for one in dimensions}
    if lacking := [name for name in (*wish.names, *wish.bounds) if name not in names]:
        raise BadSpace(
            "empty_space",
            f"{lacking[0]} has fewer than two values to try in this study; pin it or leave it out",
            field="search.knobs",
        )
    fixed = {name: value for name, value in wish.base.items() if name not in names} | pinned
    ruled = [_within_rules(one, names, fixed, situation) for one in dimensions]
    kept = tuple(one for one in ruled if len(one.levels) > 1)
    if not kept:
        raise BadSpace(
            "empty_space", "nothing is left to search: every knob is pinned", field="search.knobs"
        )
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
    return {name: report.knobs[name] for name in wish.pinned if name in report.knobs}


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
    if wish.count is None:
        return DEFAULT_COUNT
    if not 1 <= wish.count <= MAX_COUNT:
        raise BadSpace("bad_count", f"a search takes 1 to {MAX_COUNT} knobs", field="search.knobs")
    return wish.count


def _chosen(wish: Wish, situation: Situation, pinned: Mapping[str, str]) -> list[Knob]:
    """The knobs by priority, or as named; those with bounds are always among them."""
    for name in wish.bounds:
        _known(name, situation, f"search.bounds.{name}")
    named = [_known(name, situation, "search.knobs") for name in dict.fromkeys(wish.names)]
    if len(named) > MAX_COUNT:
        raise BadSpace("bad_count", f"a search takes 1 to {MAX_COUNT} knobs", field="search.knobs")
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


def _within_rules(
    one: Dimension, names: set[str], fixed: Mapping[str, str], situation: Situation
) -> Dimension:
    """Held to what stays as it is: a ceiling below a fixed capacity would be refused."""
    for rule in RULES:
        if rule.upper == one.name and rule.lower not in names:
            one = narrowed(one, low=fixed_number(rule.lower, fixed, situation))
        if rule.lower == one.name and rule.upper not in names:
            one = narrowed(one, high=_ceiling(rule, fixed, situation))
    return one


def _ceiling(rule: Rule, fixed: Mapping[str, str], situation: Situation) -> float | None:
    return fixed_number(rule.upper, fixed, situation)
