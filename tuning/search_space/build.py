"""The space of a search, from the catalogue, the server, the host and the user's request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import permutations

from tuning.catalogue.knob import Knob
from tuning.catalogue.loader import load_catalogue
from tuning.configs.config_check.check import check_knobs
from tuning.configs.config_check.rules import too_large_redo
from tuning.configs.effective.variables import (
    CAPACITY,
    DEDICATED,
    POOL,
    SIZE,
    has_capacity,
)
from tuning.configs.situation import Situation
from tuning.errors import InvalidConfig
from tuning.search_space.ranges import NUMBERS, dimension_of, why_not
from tuning.search_space.ruled import RULES, within_rules
from tuning.search_space.space_request import (
    DEFAULT_COUNT,
    MAX_COUNT,
    PRIORITY,
    BadSpace,
    SpaceRequest,
)
from tuning.strategy.search.space import Space


def build_space(request: SpaceRequest, situation: Situation) -> Space:
    """Return the space of values that the search may try.

    Raises BadSpace, with `field` below "search", where the request names what the server does not
    have, contradicts itself, pins what the gate refuses or leaves nothing to search.
    """
    pinned = _pinned(request, situation)
    count = _count(request)
    beside = {
        **request.base,
        **pinned,
        **{name: highest for name, (_, highest) in request.bounds.items()},
    }
    dimensions = [
        one
        for knob in _chosen(request, situation, pinned)
        if (one := dimension_of(knob, situation, request.bounds.get(knob.name), beside))
        is not None
    ]
    if not request.names:
        dimensions = dimensions[:count]
    names = {one.name for one in dimensions}
    if lacking := [name for name in (*request.names, *request.free) if name not in names]:
        raise _nothing_to_try(lacking[0], request, situation)
    kept = tuple(within_rules(dimensions, _fixed(request, pinned, names), request, situation))
    if not kept:
        raise BadSpace(
            "empty_space",
            "nothing is left to search: every variable is pinned",
            field="search.knobs",
        )
    names = {one.name for one in kept}
    if lacking := [name for name in (*request.names, *request.free) if name not in names]:
        text = f"what the study sets besides leaves {lacking[0]} fewer than two values"
        raise BadSpace("empty_space", text, field=_asked_in(lacking[0], request))
    rules = tuple(rule for rule in RULES if {rule.lower, rule.upper} <= names)
    return Space(kept, _fixed(request, pinned, names), rules)


def _nothing_to_try(name: str, request: SpaceRequest, situation: Situation) -> BadSpace:
    knob = load_catalogue().knobs[name]
    field = _asked_in(name, request)
    if not knob.worth_testing:
        todo = "give it bounds" if knob.kind in NUMBERS else "pin it or leave it out"
        text = f"the catalogue knows no values of {name} that are worth testing: {todo}"
        return BadSpace("empty_space", text, field=field)
    why = why_not(knob, situation)
    return BadSpace(
        "empty_space",
        f"{name} has fewer than two values to try in this study"
        f"{f': {why}' if why else ''}; pin it or leave it out",
        field=field,
    )


def _asked_in(name: str, request: SpaceRequest) -> str:
    return "search.knobs" if name in request.names else "search.free"


def _fixed(
    request: SpaceRequest, pinned: Mapping[str, str], searched: Collection[str]
) -> dict[str, str]:
    """Return what every candidate sets: the baseline's values outside the search, and pins."""
    base = {name: value for name, value in request.base.items() if name not in searched}
    return base | dict(pinned)


def _pinned(request: SpaceRequest, situation: Situation) -> dict[str, str]:
    """Normalised, through the gate."""
    for name in request.pinned:
        _known(name, situation, f"search.pinned.{name}")
        if name in (*request.bounds, *request.names, *request.free):
            raise BadSpace(
                "bad_pin",
                f"{name} is pinned to {request.pinned[name]} and also to be searched; choose one",
                field=f"search.pinned.{name}",
            )
    if not request.pinned:
        return {}
    try:
        report = check_knobs(
            {**_searched_partners(request), **request.pinned},
            situation.target,
            source="pinned",
            durability=situation.durability,
            host=situation.host,
        ).accepted()
    except InvalidConfig as error:
        first = error.problems[0]
        field = f"search.pinned.{first.name}" if first.name in request.pinned else "search.pinned"
        raise BadSpace("bad_pin", f"{first.name}: {first.reason}", field=field) from None
    pinned = {name: report.knobs[name] for name in request.pinned if name in report.knobs}
    free = situation.device.free_bytes
    if free is not None:
        redo = too_large_redo(pinned, situation.target, situation.host, free)
        if redo and redo.name:
            message = f"{redo.name}: {redo.reason}"
            raise BadSpace("bad_pin", message, field=f"search.pinned.{redo.name}")
    return pinned


def _searched_partners(request: SpaceRequest) -> dict[str, str]:
    """Return the searched partners of pinned knobs, each with the pin that it keeps to.

    The default of a partner may conflict with the pin (`within_rules`).
    """
    searched = {*request.bounds, *request.names, *request.free}
    pairs = [pair for rule in RULES for pair in permutations((rule.lower, rule.upper))]
    return {
        partner: request.pinned[name]
        for name, partner in pairs
        if name in request.pinned and partner in searched
    }


def _known(name: str, situation: Situation, field: str) -> Knob:
    catalogue = load_catalogue()
    knob = catalogue.get(name)
    if knob is not None and knob.set_by is None and knob.exists_in(situation.target):
        return knob
    near = catalogue.closest(name, situation.target)
    hint = f"; did you mean {near}?" if near and near != name else ""
    raise BadSpace(
        "unknown_knob", f"{situation.target} has no variable {name} to search{hint}", field=field
    )


def _count(request: SpaceRequest) -> int:
    asked = len({*request.names, *request.free, *request.bounds})
    count = max(DEFAULT_COUNT, asked) if request.count is None else request.count
    if not 1 <= count <= MAX_COUNT or asked > MAX_COUNT:
        raise BadSpace(
            "bad_count", f"a search takes 1 to {MAX_COUNT} variables", field="search.knobs"
        )
    if not request.names and count < asked:
        message = f"{count} variables are to be searched, but {asked} are named or have bounds"
        raise BadSpace("bad_count", message, field="search.knobs")
    return count


def _chosen(request: SpaceRequest, situation: Situation, pinned: Mapping[str, str]) -> list[Knob]:
    """The knobs by priority, or as named; freed and bounded ones are always among them."""
    for name in request.bounds:
        _known(name, situation, f"search.bounds.{name}")
    named = [_known(name, situation, "search.knobs") for name in dict.fromkeys(request.names)]
    wanted = [_known(name, situation, "search.free") for name in dict.fromkeys(request.free)]
    catalogue = load_catalogue()
    wanted += [catalogue.knobs[name] for name in request.bounds if name not in request.free]
    wanted = [knob for knob in wanted if knob.name not in request.names]
    if named:
        return named + wanted
    there = {knob.name for knob in catalogue.tunable(situation.target)}
    gone = {SIZE if has_capacity(situation.target) else CAPACITY, *pinned}
    gone |= {knob.name for knob in wanted}
    if pinned.get(DEDICATED, request.base.get(DEDICATED)) == "ON":
        gone |= {POOL, CAPACITY}  # the server sizes these itself
    return wanted + [
        catalogue.knobs[name] for name in PRIORITY if name in there and name not in gone
    ]
