"""The dimension of one knob: the catalogue's ranges, held to server, host and study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import MIB, Expected
from tuning.configs.memory import largest_pool
from tuning.configs.presets import unrounded_pool
from tuning.configs.price import forbidden_costs, free_redo_bytes, too_unsafe
from tuning.configs.situation import Situation
from tuning.configs.values import BadValue, fixed_default, normalise, usable
from tuning.configs.variables import (
    CAPACITY,
    DIRECT_METHODS,
    FILES,
    FLUSH_METHOD,
    LOG_BUFFER,
    POOL,
    SIZE,
)
from tuning.search_space.space_request import BadSpace
from tuning.strategy.search.space import MAX_LEVELS, Dimension

# From this ratio of the ends on a scale is logarithmic.
_LOG_FROM = 8.0
# A pool that holds the data more than so many times never fills.
_POOL_OF_DATA = 2.0
# The memory holds at least so many of the largest log buffer.
_LOG_BUFFERS_IN_MEMORY = 16
_KIB = 1024.0
# Kinds of knobs that have a scale.
_NUMBERS = (Kind.BYTES, Kind.INT, Kind.FLOAT)


def dimension_of(
    knob: Knob,
    situation: Situation,
    bounds: tuple[str, str] | None = None,
    others: Mapping[str, str] | None = None,
) -> Dimension | None:
    """The dimension of a knob that the target has; None where not two values are left.

    `others` is what candidates set as well, each knob at its highest. `bounds` are the user's and
    go before the catalogue's. Raises BadSpace where they are none, or where the study allows fewer
    than two values between them.
    """
    if bounds is not None:
        return _requested(knob, situation, bounds, others or {})
    words = [word for part in knob.worth_testing for word in part.values]
    source = "; ".join(part.source for part in knob.worth_testing)
    if words:
        return _choice(knob, situation, dict.fromkeys(words), source)
    ends = [part.bounds(situation.resources) for part in knob.worth_testing]
    numbers = [number for pair in ends if pair is not None for number in pair]
    if not numbers or knob.kind not in _NUMBERS:
        return None
    return _number(knob, situation, min(numbers), max(numbers), source, others or {})


def _requested(
    knob: Knob, situation: Situation, bounds: tuple[str, str], others: Mapping[str, str]
) -> Dimension:
    field, given = f"search.bounds.{knob.name}", f"{knob.name}: {' to '.join(bounds)}"
    if knob.kind not in _NUMBERS:
        raise BadSpace("bad_bounds", f"{knob.name} is no number: pin it instead", field=field)
    try:
        low, high = (float(normalise(knob, text, situation.target)) for text in bounds)
    except BadValue as error:
        raise BadSpace("bad_bounds", f"{knob.name} {error}", field=field) from None
    found = None
    if low < high:
        found = _number(knob, situation, low, high, "as requested", others, is_requested=True)
    if found is None:
        why = f": {why_none(knob, situation, is_bounded=True)}" if low < high else ""
        raise BadSpace("bad_bounds", f"{given} leaves nothing to try{why}", field=field)
    return found


def why_none(knob: Knob, situation: Situation, *, is_bounded: bool = False) -> str:
    """Say why a study has fewer than two values of a knob to try, and what to do."""
    if not (knob.worth_testing or is_bounded):
        todo = "give it bounds" if knob.kind in _NUMBERS else "pin it or leave it out"
        return f"the catalogue knows no values of {knob.name} that are worth testing: {todo}"
    if kinds := sorted({one.kind for one in knob.costs} - situation.allowed):
        named = ",".join(kinds)
        return f"other values of {knob.name} cost {named}, which is not allowed (--allow {named})"
    if lost := [one for one in knob.durability if one.durability > situation.durability]:
        given = min(one.durability for one in lost)
        only = f"the study allows only {situation.durability}"
        return f"other values of {knob.name} are of class {given}, {only}"
    return (
        f"the server, this host and what the study sets besides leave {knob.name} fewer than two "
        "values; pin it or leave it out"
    )


def _choice(
    knob: Knob, situation: Situation, words: Iterable[str], source: str
) -> Dimension | None:
    taken: dict[str, None] = {}
    default = fixed_default(knob, situation.target) or ""
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
    knobs, target = {knob.name: value}, situation.target
    return not too_unsafe(knobs, situation.durability) and not forbidden_costs(
        knobs, target, situation.allowed, situation.host
    )


def _most_allowed(knob: Knob, situation: Situation) -> float:
    """Return the largest value without a cost, or a durability class, that is not allowed."""
    costs = [one.above for one in knob.costs if one.kind not in situation.allowed]
    rules = [one.above for one in knob.durability if one.durability > situation.durability]
    return min((above for above in [*costs, *rules] if above is not None), default=math.inf)


def _number(
    knob: Knob,
    situation: Situation,
    low: float,
    high: float,
    source: str,
    others: Mapping[str, str],
    *,
    is_requested: bool = False,
) -> Dimension | None:
    limits = knob.limits(situation.target)
    if limits is not None:
        low, high = max(low, limits.low), min(high, limits.high)
    step = 0.0
    values: tuple[str, ...] = ()
    if knob.name == POOL:
        sizes = _pool_sizes(situation, low, high, is_requested=is_requested)
        if len(sizes) < 2:
            return None
        low, high, values = sizes[0], sizes[-1], tuple(map(str, sizes))
    elif knob.name in (CAPACITY, SIZE):
        high, step = min(high, _redo_limit(knob, situation, others)), 4.0 * MIB
    elif knob.kind is Kind.BYTES and high >= 4 * MIB:
        step = 1.0 * MIB
        if knob.name == LOG_BUFFER and not is_requested:
            high = min(high, _most_log_buffer(situation))
    elif knob.kind is Kind.FLOAT:
        step = _decimal_step(high - low)
    high = min(high, _most_allowed(knob, situation))
    special: tuple[str, ...] = ()
    if low == 0:
        # 0 is "no limit" or "off" with all knobs of the catalogue whose range begins there.
        special = ("0",)
        low = max(step, min(_KIB, high)) if knob.kind is Kind.BYTES else min(step or 1.0, 1.0)
    if knob.kind is not Kind.FLOAT:
        low, high = math.ceil(low), math.floor(high)
    if high < low or (high == low and not special):
        return None
    found = Dimension(
        knob.name,
        "number",
        low=float(low),
        high=float(high),
        is_log=high / low >= _LOG_FROM,
        step=step,
        values=values,
        special=special,
        default=fixed_default(knob, situation.target) or "",
        source=source,
    )
    # The gate would refuse what may lose more than the study allows.
    allowed = [value for value in found.levels if _is_allowed(knob, value, situation)]
    if len(allowed) < 2:
        return None
    if len(allowed) < len(found.levels):
        special = tuple(value for value in special if value in allowed)
        on_scale = tuple(value for value in allowed if value not in special)
        found = replace(found, special=special, values=on_scale)
    return found


def _pool_sizes(situation: Situation, low: float, high: float, *, is_requested: bool) -> list[int]:
    """Return sizes within the memory budget that the server does not round, by even factors."""
    expected = Expected({}, situation.target, situation.host)
    if not is_requested:
        most = max(_POOL_OF_DATA * situation.resources.data_bytes, 2 * low)
        # Shares of a small memory may all lie below what the server has by itself.
        high = max(min(high, unrounded_pool(round(most), expected)), expected.pool() or 0)
    budget = situation.host.memory_budget_bytes or situation.resources.memory_bytes
    buffer = {LOG_BUFFER: str(_most_log_buffer(situation))}
    high = min(high, largest_pool(Expected(buffer, situation.target, situation.host), budget))
    factor = max(high / low, 1.0) ** (1 / (MAX_LEVELS - 1))
    wanted = (round(low * factor**number) for number in range(MAX_LEVELS))
    sizes = {unrounded_pool(size, expected) for size in wanted}
    return sorted(size for size in sizes if low <= size <= high)


def _most_log_buffer(situation: Situation) -> int:
    """The largest that is tried: in a small memory it would take the place of the pool."""
    budget = situation.host.memory_budget_bytes or situation.resources.memory_bytes
    default = Expected({}, situation.target, situation.host).whole(LOG_BUFFER) or 0
    return min(64 * MIB, max(default, budget // _LOG_BUFFERS_IN_MEMORY))


def _decimal_step(width: float) -> float:
    """The power of ten that leaves a range at least ten values, and at most 1."""
    return min(10.0 ** math.floor(math.log10(width / 10)), 1.0) if width > 0 else 0.0


def _redo_limit(knob: Knob, situation: Situation, others: Mapping[str, str]) -> float:
    """The redo log, all its files together, has to fit into what the data leaves."""
    limit = math.inf
    if situation.device.free_bytes is not None:
        limit = max(situation.device.free_bytes, 0)
    if any(cost.kind not in situation.allowed for cost in knob.costs):
        limit = min(limit, free_redo_bytes())
    sized, many = {knob.name: str(MIB)}, load_catalogue().knobs[FILES]
    if knob.name == SIZE and many.exists_in(situation.target):
        files = usable(many, others.get(FILES, ""), situation.target)
        sized |= {} if files is None else {FILES: files}
    return limit * MIB / (Expected(sized, situation.target).redo() or MIB)
