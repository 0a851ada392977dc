"""Knobs of which one may not be above the other: their dimensions are made to go together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import Expected
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
    fit = _Fit(request, situation)
    for rule in RULES:
        lower, upper = found.get(rule.lower), found.get(rule.upper)
        if lower is not None and upper is not None:
            found[rule.lower], found[rule.upper] = fit.together(rule, lower, upper)
        elif upper is not None:
            least = expected.number(rule.lower)
            if least is not None:
                upper = fit.widened(upper, least, rule) if upper.high <= least else upper
                found[rule.upper] = fit.narrowed(upper, rule.lower, low=least)
        elif lower is not None:
            most = expected.number(rule.upper)
            if most is not None:
                found[rule.lower] = fit.narrowed(lower, rule.upper, high=most)
    return [one for one in found.values() if one is not None and len(one.levels) > 1]


@dataclass(frozen=True)
class _Fit:
    request: SpaceRequest
    situation: Situation

    def together(
        self, rule: Rule, lower: Dimension, upper: Dimension
    ) -> tuple[Dimension | None, Dimension | None]:
        """Return both, with a value of the one that moves for every value of the other."""
        bounds, upper_moves = self.request.bounds, rule.moves == "upper"
        highest, lowest = _numbers(lower)[-1], _numbers(lower)[0]
        reach = highest if upper_moves or lower.name in bounds else lowest
        if reach > _numbers(upper)[-1]:
            upper = self.widened(upper, reach, rule)
        needed, limit = (
            (highest, _numbers(upper)[-1]) if upper_moves else (lowest, _numbers(upper)[0])
        )
        if needed <= limit:
            return lower, upper
        if not upper_moves and upper.name not in bounds:
            return lower, self.narrowed(upper, lower.name, low=needed)
        if lower.name in bounds and upper.name in bounds:
            raise BadSpace(
                "bad_bounds",
                f"{lower.name} may not be above {upper.name}: {' to '.join(bounds[lower.name])} "
                f"does not go with {' to '.join(bounds[upper.name])}",
                field=f"search.bounds.{lower.name}",
            )
        limits = self._limits(lower)
        if lower.low >= limit and limits is not None:
            lower = replace(lower, low=min(lower.low, max(limits[0], 1.0)))
        if upper_moves:
            return self.narrowed(lower, upper.name, high=limit), upper
        return self.narrowed(lower, upper.name, low=limit), upper

    def widened(self, one: Dimension, least: float, rule: Rule) -> Dimension:
        """Return a range of the catalogue above `least`, as far as the server takes it."""
        if one.name in self.request.bounds:
            return one
        limits = self._limits(one)
        most = _BEYOND * least if limits is None else min(_BEYOND * least, limits[1])
        source = f"{one.source}; up to twice {rule.lower}"
        return replace(one, high=max(one.high, float(math.floor(most))), source=source)

    def narrowed(
        self, one: Dimension, partner: str, low: float = -math.inf, high: float = math.inf
    ) -> Dimension | None:
        """Return the dimension with an end moved in; None if no range is left."""
        special = tuple(value for value in one.special if low <= float(value) <= high)
        found = replace(one, low=max(one.low, low), high=min(one.high, high), special=special)
        if found.high > found.low or (found.high == found.low and special):
            return found
        if one.name not in self.request.bounds:
            return None
        side, limit = ("above", high) if low == -math.inf else ("below", low)
        raise BadSpace(
            "bad_bounds",
            f"{one.name} may not be {side} {partner}, which is {limit:g} in this study: its "
            "bounds leave nothing to try",
            field=f"search.bounds.{one.name}",
        )

    def _limits(self, one: Dimension) -> tuple[float, float] | None:
        return load_catalogue().knobs[one.name].limits(self.situation.target)


def _numbers(one: Dimension) -> list[float]:
    return sorted(float(value) for value in one.levels)
