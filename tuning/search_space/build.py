"""The space of a search, from the catalogue, the server, the host and the user's request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import permutations

from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import Names
from tuning.configs.check import check_knobs
from tuning.configs.rules import too_large_redo
from tuning.configs.situation import Situation
from tuning.configs.variables import CAPACITY, DEDICATED, POOL, SIZE, has_capacity
from tuning.errors import InvalidConfig
from tuning.search_space.ranges import dimension_of, why_none
from tuning.search_space.ruled import RULES, within_rules
from tuning.search_space.space_request import DEFAULT_COUNT, MAX_COUNT, BadSpace, SpaceRequest
from tuning.strategy.search.space import Dimension, Space


def build_space(request: SpaceRequest, situation: Situation) -> Space:
    """Return the space of values that the search may try.

    Raises BadSpace, with `field` below "search", where the request names what the server does not
    have, contradicts itself, pins what the gate refuses or leaves nothing to search.
    """
    pinned = _pinned(request, situation)
    count = _count(request)
    highest = {name: high for name, (_, high) in request.bounds.items()}
    others = {**request.base, **pinned, **highest}
    dimensions = [
        one
        for knob in _chosen(request, situation, pinned)
        if (one := dimension_of(knob, situation, request.bounds.get(knob.name), others))
        is not None
    ]
    if not request.names:
        dimensions = dimensions[:count]
    _check_asked(request, situation, dimensions)
    fixed = _fixed(request, pinned, {one.name for one in dimensions})
    kept = tuple(within_rules(dimensions, fixed, request, situation))
    if not kept:
        text = "nothing is left to search: every variable is pinned"
        raise BadSpace("empty_space", text, field="search.knobs")
    _check_asked(request, situation, kept)
    names = {one.name for one in kept}
    rules = tuple(rule for rule in RULES if {rule.lower, rule.upper} <= names)
    return Space(kept, _fixed(request, pinned, names), rules)


def _check_asked(
    request: SpaceRequest, situation: Situation, dimensions: Collection[Dimension]
) -> None:
    """Raise BadSpace for a knob of the request that has fewer than two values."""
    names = {one.name for one in dimensions}
    for name, field in request.asked.items():
        if name not in names:
            text = why_none(load_catalogue().knobs[name], situation)
            raise BadSpace("empty_space", text, field=field)


def _fixed(
    request: SpaceRequest, pinned: Mapping[str, str], searched: Collection[str]
) -> dict[str, str]:
    """Return what every candidate sets: the baseline's values outside the search, and pins."""
    base = {name: value for name, value in request.base.items() if name not in searched}
    return base | dict(pinned)


def _pinned(request: SpaceRequest, situation: Situation) -> dict[str, str]:
    """The pins as the gate takes them."""
    pins, asked = request.pinned, request.asked
    for name in pins:
        _known(name, situation, f"search.pinned.{name}")
        if name in asked:
            text = f"{name} is pinned to {pins[name]} and also to be searched; choose one"
            raise BadSpace("bad_pin", text, field=f"search.pinned.{name}")
    if not pins:
        return {}
    # The default of a searched partner may conflict with the pin, so it keeps to it.
    pairs = [pair for rule in RULES for pair in permutations((rule.lower, rule.upper))]
    partners = {other: pins[one] for one, other in pairs if one in pins and other in asked}
    try:
        report = check_knobs(
            {**partners, **pins},
            situation.target,
            source="pinned",
            durability=situation.durability,
            host=situation.host,
        ).accepted()
    except InvalidConfig as error:
        first = error.problems[0]
        field = f"search.pinned.{first.name}" if first.name in pins else "search.pinned"
        raise BadSpace("bad_pin", f"{first.name}: {first.reason}", field=field) from None
    pinned = {name: report.knobs[name] for name in pins if name in report.knobs}
    free = situation.device.free_bytes
    redo = free is not None and too_large_redo(pinned, situation.target, situation.host, free)
    if redo and redo.name:
        text = f"{redo.name}: {redo.reason}"
        raise BadSpace("bad_pin", text, field=f"search.pinned.{redo.name}")
    return pinned


def _known(name: str, situation: Situation, field: str) -> Knob:
    knob = load_catalogue().get(name)
    if knob is not None and knob.set_by is None and knob.exists_in(situation.target):
        return knob
    near = Names(situation.target).nearest(name)
    hint = f"; did you mean {near}?" if near and near != name else ""
    text = f"{situation.target} has no variable {name} to search{hint}"
    raise BadSpace("unknown_knob", text, field=field)


def _count(request: SpaceRequest) -> int:
    asked = len(request.asked)
    count = max(DEFAULT_COUNT, asked) if request.count is None else request.count
    text = ""
    if not 1 <= count <= MAX_COUNT or asked > MAX_COUNT:
        text = f"a search takes 1 to {MAX_COUNT} variables"
    elif not request.names and count < asked:
        text = f"{count} variables are to be searched, but {asked} are named or have bounds"
    if text:
        raise BadSpace("bad_count", text, field="search.knobs")
    return count


def _chosen(request: SpaceRequest, situation: Situation, pinned: Mapping[str, str]) -> list[Knob]:
    """The knobs by priority, or as named; freed and bounded ones are always among them."""
    asked = [_known(name, situation, field) for name, field in request.asked.items()]
    if request.names:
        return sorted(asked, key=lambda knob: knob.name not in request.names)
    gone = {SIZE if has_capacity(situation.target) else CAPACITY, *pinned, *request.asked}
    if pinned.get(DEDICATED, request.base.get(DEDICATED)) == "ON":
        gone |= {POOL, CAPACITY}  # the server sizes these itself
    usual = load_catalogue().searched(situation.target)
    return asked + [knob for knob in usual if knob.name not in gone]
