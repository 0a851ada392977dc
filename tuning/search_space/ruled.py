"""Knobs of which one may not be above the other: their dimensions are made to go together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.expected import Expected
from tuning.configs.situation import Situation
from tuning.search_space.space_request import BadSpace, SpaceRequest
from tuning.strategy.search.space import Dimension, Rule

RULES = tuple(Rule(lower, limit.knob, limit.moves) for lower, limit in load_catalogue().limited())
# How far a range goes that had to be widened, as a multiple of what it has to reach.
_BEYOND = 2.0


def within_rules(
    dimensions: Iterable[Dimension],
    fixed: Mapping[str, str],
    request: SpaceRequest,
    situation: Situation,
) -> list[Dimension]:
    """Held to what stays as it is and to each other: otherwise the gate would refuse configs.

    A range of the catalogue gives way to the request; where that leaves nothing of it the knob
    is left out. Raises BadSpace where two parts of the request contradict each other.
    """
    found: dict[str, Dimension | None] = {one.name: one for one in dimensions}
    expected = Expected(fixed, situation.target, situation.host)
    for rule in RULES:
        lower, upper = found.get(rule.lower), found.get(rule.upper)
        if lower is not None and upper is not None:
            lower, upper = _together(rule, lower, upper, request, situation)
            found |= {rule.lower: lower, rule.upper: upper}
        elif upper is not None:
            least = expected.number(rule.lower)
            if least is not None and upper.high <= least and rule.upper not in request.bounds:
                upper = _widened(upper, least, rule, situation)
            found[rule.upper] = _narrowed(upper, request, rule.lower, low=least)
        elif lower is not None:
            most = expected.number(rule.upper)
            found[rule.lower] = _narrowed(lower, request, rule.upper, high=most)
    return [one for one in found.values() if one is not None and len(one.levels) > 1]


def _together(
    rule: Rule, lower: Dimension, upper: Dimension, request: SpaceRequest, situation: Situation
) -> tuple[Dimension | None, Dimension | None]:
    """With a value of the one that moves for every value of the other."""
    needed = _highest(lower) if rule.moves == "upper" else _lowest(lower)
    reached = max(needed, _highest(lower) if rule.lower in request.bounds else needed)
    if reached > _highest(upper) and rule.upper not in request.bounds:
        upper = _widened(upper, reached, rule, situation)
    if rule.moves == "upper":
        if needed > _highest(upper):
            _refuse_if_asked(rule, lower, upper, request)
            if lower.low >= _highest(upper):
                lower = _begun_lower(lower, situation)
            return _narrowed(lower, request, rule.upper, high=_highest(upper)), upper
    elif needed > _lowest(upper):
        if rule.upper not in request.bounds:
            return lower, _narrowed(upper, request, rule.lower, low=needed)
        _refuse_if_asked(rule, lower, upper, request)
        lower = _begun_lower(lower, situation)
        return _narrowed(lower, request, rule.upper, low=_lowest(upper)), upper
    return lower, upper


def _refuse_if_asked(
    rule: Rule, lower: Dimension, upper: Dimension, request: SpaceRequest
) -> None:
    if rule.lower in request.bounds and rule.upper in request.bounds:
        raise BadSpace(
            "bad_bounds",
            f"{rule.lower} may not be above {rule.upper}: {_lowest(lower):g} to "
            f"{_highest(lower):g} does not go with {_lowest(upper):g} to {_highest(upper):g}",
            field=f"search.bounds.{rule.lower}",
        )


def _widened(one: Dimension, least: float, rule: Rule, situation: Situation) -> Dimension:
    """Return the dimension with a range above `least`, as far as the server takes it."""
    limits = load_catalogue().knobs[one.name].limits(situation.target)
    most = _BEYOND * least if limits is None else min(_BEYOND * least, limits.high)
    source = f"{one.source}; up to twice {rule.lower}"
    return replace(one, high=max(one.high, float(math.floor(most))), source=source)


def _begun_lower(one: Dimension, situation: Situation) -> Dimension:
    """Begin the range at the least value that the server takes."""
    limits = load_catalogue().knobs[one.name].limits(situation.target)
    return one if limits is None else replace(one, low=min(one.low, max(limits.low, 1.0)))


def _narrowed(
    one: Dimension,
    request: SpaceRequest,
    partner: str,
    low: float | None = None,
    high: float | None = None,
) -> Dimension | None:
    """Return the dimension with an end moved in; None if no range is left."""
    least = -math.inf if low is None else low
    most = math.inf if high is None else high
    found = replace(
        one,
        low=max(one.low, least),
        high=min(one.high, most),
        special=tuple(value for value in one.special if least <= float(value) <= most),
    )
    if found.high > found.low or (found.high == found.low and found.special):
        return found
    if one.name not in request.bounds:
        return None
    side, limit = ("above", most) if low is None else ("below", least)
    raise BadSpace(
        "bad_bounds",
        f"{one.name} may not be {side} {partner}, which is {limit:g} in this study: its bounds "
        "leave nothing to try",
        field=f"search.bounds.{one.name}",
    )


def _lowest(one: Dimension) -> float:
    return min(float(value) for value in one.levels)


def _highest(one: Dimension) -> float:
    return max(float(value) for value in one.levels)
