"""The dimension of one knob: the catalogue's ranges, held to server, host and study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tuning.catalogue.knob import Kind, Knob
from tuning.configs.effective.costs import forbidden_costs, free_redo_bytes
from tuning.configs.effective.durability import loss
from tuning.configs.effective.expected import DEFAULT_CHUNK, MIB, Expected
from tuning.configs.effective.memory import MAX_SHARE, memory_need
from tuning.configs.effective.variables import (
    CAPACITY,
    CHUNK,
    DIRECT_METHODS,
    FILES,
    FLUSH_METHOD,
    LOG_BUFFER,
    POOL,
    SIZE,
)
from tuning.configs.values import BadValue, fixed_default, normalise
from tuning.search_space.wish import BadSpace, Situation
from tuning.strategy.search.space import Dimension

# From this ratio of the ends on a scale is logarithmic.
_LOG_FROM = 8.0
# A pool that holds the data more than so many times never fills.
_POOL_OF_DATA = 2.0
_NUMBERS = (Kind.BYTES, Kind.INT, Kind.FLOAT)


def dimension_of(
    knob: Knob, situation: Situation, bounds: tuple[str, str] | None = None
) -> Dimension | None:
    """The dimension of a knob that the target has; None where not two values are left.

    `bounds` are the user's and go before the catalogue's. Raises BadSpace where they are none.
    """
    if bounds is not None:
        return _number(knob, situation, *_read(knob, situation, bounds), "as requested")
    words = [word for part in knob.worth_testing for word in part.values]
    source = "; ".join(part.source for part in knob.worth_testing)
    if words:
        return _choice(knob, situation, dict.fromkeys(words), source)
    ends = [part.bounds(situation.resources) for part in knob.worth_testing]
    numbers = [number for pair in ends if pair is not None for number in pair]
    if not numbers or knob.kind not in _NUMBERS:
        return None
    return _number(knob, situation, min(numbers), max(numbers), source)


def default_of(knob: Knob, situation: Situation) -> str:
    """What the server has where the knob is not set; "" where that is not known."""
    fixed = fixed_default(knob, situation.target)
    return "" if fixed is None else fixed


def _choice(
    knob: Knob, situation: Situation, words: Iterable[str], source: str
) -> Dimension | None:
    taken: dict[str, None] = {}
    default = default_of(knob, situation)
    for word in (*([default] if default else []), *words):
        try:
            value = normalise(knob, word, situation.target)
        except BadValue:
            continue
        if _is_allowed(knob, value, situation):
            taken[value] = None
    if len(taken) < 2:
        return None
    return Dimension(knob.name, "choice", choices=tuple(taken), default=default, source=source)


def _is_allowed(knob: Knob, value: str, situation: Situation) -> bool:
    direct = knob.name == FLUSH_METHOD and value in DIRECT_METHODS
    if direct and situation.host.direct_io is False:
        return False
    return loss(knob, value, situation.durability) is None and not forbidden_costs(
        {knob.name: value}, situation.target, situation.allowed, situation.host
    )


def _number(
    knob: Knob, situation: Situation, low: float, high: float, source: str
) -> Dimension | None:
    limits = knob.limits(situation.target)
    if limits is not None:
        low, high = max(low, limits.low), min(high, limits.high)
    step = 0.0
    if knob.name == POOL:
        low, high, step = _pool(situation, low, high)
    elif knob.name in (CAPACITY, SIZE):
        high, step = min(high, _redo_limit(knob, situation)), 4.0 * MIB
    elif knob.kind is Kind.BYTES and high >= 4 * MIB:
        step = 1.0 * MIB
    for cost in knob.costs:
        if cost.above is not None and cost.kind not in situation.allowed:
            high = min(high, cost.above)
    for rule in knob.durability:
        if rule.above is not None and rule.durability > situation.durability:
            high = min(high, rule.above)
    special: tuple[str, ...] = ()
    if low == 0 and knob.kind is not Kind.BYTES:
        # 0 is "no limit" or "off" with all knobs of the catalogue whose range begins there.
        special, low = ("0",), 1.0
    low, high = math.ceil(low), math.floor(high)
    if high <= low:
        return None
    found = Dimension(
        knob.name,
        "number",
        low=float(low),
        high=float(high),
        is_log=high / low >= _LOG_FROM,
        step=step,
        special=special,
        default=default_of(knob, situation),
        source=source,
    )
    return found if len(found.levels) > 1 else None


def _pool(situation: Situation, low: float, high: float) -> tuple[float, float, float]:
    """Within the memory budget, in steps that the server does not round."""
    target, host = situation.target, situation.host
    high = min(high, max(_POOL_OF_DATA * situation.resources.data_bytes, 2 * low))
    budget = host.memory_budget_bytes or situation.resources.memory_bytes
    need = memory_need(Expected({POOL: str(round(high)), LOG_BUFFER: str(64 * MIB)}, target, host))
    if need is not None:
        rest = need.total(host.connections or 0) - need.pool
        high = min(high, MAX_SHARE * budget - rest)
    expected = Expected({POOL: str(max(round(high), 1))}, target, host)
    chunk = expected.whole(CHUNK) or DEFAULT_CHUNK
    step = float(chunk * (expected.instances(max(round(high), 1)) or 1))
    if high < step:
        step = float(MIB)
    return max(low, step), high // step * step, step


def _redo_limit(knob: Knob, situation: Situation) -> float:
    """The redo log of both names is all its files together."""
    files = 1
    if knob.name == SIZE and not situation.target.mariadb:
        files = Expected({}, situation.target).whole(FILES) or 2
    limits = [cost for cost in knob.costs if cost.kind not in situation.allowed]
    return free_redo_bytes() / files if limits else float("inf")


def _read(knob: Knob, situation: Situation, bounds: tuple[str, str]) -> tuple[float, float]:
    field = f"search.bounds.{knob.name}"
    if knob.kind not in _NUMBERS:
        raise BadSpace("bad_bounds", f"{knob.name} is no number: pin it instead", field=field)
    try:
        low, high = (float(normalise(knob, text, situation.target)) for text in bounds)
    except BadValue as error:
        raise BadSpace("bad_bounds", f"{knob.name} {error}", field=field) from None
    if low >= high:
        message = f"{knob.name}: {bounds[0]} to {bounds[1]} leaves nothing to try"
        raise BadSpace("bad_bounds", message, field=field)
    return low, high


def narrowed(one: Dimension, low: float | None = None, high: float | None = None) -> Dimension:
    """The dimension with an end moved in."""
    return replace(
        one,
        low=one.low if low is None else max(one.low, low),
        high=one.high if high is None else min(one.high, high),
    )


def fixed_number(name: str, fixed: Mapping[str, str], situation: Situation) -> float | None:
    """The value of a knob that the search does not change: as set there, else the default."""
    return Expected(fixed, situation.target, situation.host).number(name)
