"""How a running server accepts the new value of a variable: at once, at a restart, in which order.

Verified on MySQL 9.7.4 and MariaDB 10.11.19, and with the manuals' lists of variables that cannot
be persisted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tuning.catalogue.facts import Dynamic
from tuning.catalogue.knob import Kind, Knob
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import DEFAULT_CHUNK, MIB
from tuning.configs.values import fixed_default
from tuning.configs.variables import (
    CHUNK,
    GTID_CONSISTENCY,
    GTID_MODE,
    INSTANCES,
    IO_CAPACITY,
    IO_CEILING,
    POOL,
    SIZE,
)

# A limit must be raised before the value below it, and lowered after it.
_CEILINGS = {
    IO_CAPACITY: IO_CEILING,
    "innodb_max_dirty_pages_pct_lwm": "innodb_max_dirty_pages_pct",
}
#: Refused by SET PERSIST and SET PERSIST_ONLY ("is a non persistent variable").
NEVER_PERSISTED = frozenset(
    {
        "innodb_dedicated_server",
        "innodb_doublewrite",
        "innodb_page_size",
        "innodb_undo_tablespaces",
    }
)
_GTID_STEPS = ("OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
_POOL_LIMIT = "innodb_buffer_pool_size_max"
# Seen to hang on 10.11.7, never on 10.11.19 and 11.8.6.
_REDO_RESIZED_WELL = (10, 11, 12)
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")

#: A hint for every resize of the pool; seen on 5.7.42, 8.0.46 and 8.4.10.
RESIZES = (
    "The pool is resized in the background, and older servers refuse another change until it is "
    "done. Wait for its end before you change innodb_adaptive_hash_index again, also in a "
    "rollback: at the end of a resize the server sets the index as it was at the beginning. "
    "Check SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'."
)


class ChangeMode(StrEnum):
    """How a variable can be changed to a value."""

    NOW = "now"
    RESTART = "restart"
    FILE = "file"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Change:
    """A variable and its new value; `why` is the reason why it cannot be set now."""

    knob: Knob
    value: str
    how: ChangeMode
    why: str = ""


def persists(server: ServerTraits) -> bool:
    """Whether the server has SET PERSIST."""
    return not server.mariadb and server.version >= (8, 0, 0)


def change(
    knob: Knob, value: str, before: str | None, server: ServerTraits, known: Mapping[str, str]
) -> Change:
    """Return how a running server that has the value `before` can be changed.

    known: its other variables, as far as they are known.
    """
    return Change(knob, value, *_way(knob, value, before, server, known))


def _way(
    knob: Knob, value: str, before: str | None, server: ServerTraits, known: Mapping[str, str]
) -> tuple[ChangeMode, str]:
    dynamic, name = knob.dynamic(server), knob.name
    if dynamic is Dynamic.NO_EFFECT:
        return ChangeMode.NOTHING, "has no effect on this server"
    if persists(server) and name in NEVER_PERSISTED:
        return ChangeMode.FILE, "the server does not persist it"
    if dynamic not in (Dynamic.GLOBAL, Dynamic.SESSION):
        return ChangeMode.RESTART, "requires a restart"
    if name == "innodb_max_purge_lag_wait":
        return ChangeMode.FILE, "makes the server wait once and is not kept"
    if name == GTID_MODE and before not in _GTID_STEPS:
        return ChangeMode.FILE, "changes in steps, and the current mode is unknown"
    why = ""
    if name == POOL:
        why = _why_pool_waits(int(value), server, known)
    elif name == SIZE and server.mariadb and server.version < _REDO_RESIZED_WELL:
        why = "on a running server of that release the change may never end"
    elif name == "innodb_log_file_buffering" and value == "OFF":
        # Seen on 10.11.19 and 11.8.6: after ON it stays ON, without a warning.
        why = "a running server may leave it ON"
    elif name.startswith("thread_pool_"):
        if known.get("thread_handling") not in ("pool-of-threads", "loaded-dynamically"):
            why = "a server that was started without a thread pool ignores it"
    elif name == "query_cache_type" and not server.mariadb and before in (None, "OFF"):
        why = "a server that was started without a query cache requires a restart"
    return (ChangeMode.RESTART, why) if why else (ChangeMode.NOW, "")


def in_order(changes: Iterable[Change], before: Mapping[str, str]) -> list[Change]:
    """Return an order in which the server accepts every value; before: its values, if known."""
    found = {one.knob.name: one for one in changes}
    pairs = []
    for floor, ceiling in _CEILINGS.items():
        if floor in found and ceiling in found:
            old = before.get(floor)
            is_lowered = old is not None and float(found[ceiling].value) < float(old)
            pairs.append((floor, ceiling) if is_lowered else (ceiling, floor))
    if {GTID_MODE, GTID_CONSISTENCY} <= found.keys():
        is_on = found[GTID_MODE].value.startswith("ON")
        pairs.append((GTID_CONSISTENCY, GTID_MODE) if is_on else (GTID_MODE, GTID_CONSISTENCY))
    names = list(found)
    for first, second in pairs:
        if names.index(first) > names.index(second):
            names.remove(first)
            names.insert(names.index(second), first)
    # These continue in the background. Until they end, the server ignores
    # innodb_log_file_buffering and has no adaptive hash index; then it restores the index as it
    # was at the beginning of the resize.
    slow = [name for name in (SIZE, POOL) if name in found]
    return [found[name] for name in (*(one for one in names if one not in slow), *slow)]


def statements(one: Change, verb: str, before: str | None, server: ServerTraits) -> Iterator[str]:
    """Yield the statements of one variable: one, except for gtid_mode, which changes step by step.

    verb: GLOBAL, PERSIST or PERSIST_ONLY. The variable's name may not be the option's.
    """
    if one.knob.name == GTID_MODE and before in _GTID_STEPS and one.value in _GTID_STEPS:
        start, end = _GTID_STEPS.index(before), _GTID_STEPS.index(one.value)
        step = 1 if end > start else -1
        for index in range(start + step, end, step):
            yield f"SET GLOBAL gtid_mode = '{_GTID_STEPS[index]}';"
    yield f"SET {verb} {one.knob.variable(server)} = {literal(one.knob, one.value)};"


def literal(knob: Knob, value: str) -> str:
    """Return the value in SQL. Raises ValueError for a value that is not of the knob's kind."""
    if knob.kind in (Kind.INT, Kind.BYTES, Kind.FLOAT):
        if not _NUMBER.fullmatch(value):
            raise ValueError(f"{knob.name}: not a number: {value!r}")
        return value
    if knob.kind is Kind.BOOL and value in ("ON", "OFF"):
        return value
    if not value.isprintable() or "\\" in value:
        raise ValueError(f"{knob.name}: cannot be written in SQL: {value!r}")
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def _why_pool_waits(size: int, server: ServerTraits, known: Mapping[str, str]) -> str:
    """Why a running server cannot set a pool of exactly that size, "" if it can."""
    chunk = _known_number(CHUNK, known, server)
    instances = _known_number(INSTANCES, known, server) or 1
    if size % ((DEFAULT_CHUNK if chunk is None else chunk or MIB) * instances):
        return "not a multiple of the running server's chunk size, so it would be rounded"
    limit = load_catalogue().get(_POOL_LIMIT)
    if limit is not None and limit.exists_in(server):
        most = _known_number(_POOL_LIMIT, known, server)
        if most is None or size > most:
            return f"a running server cannot grow its pool beyond {_POOL_LIMIT}"
    return ""


def _known_number(name: str, known: Mapping[str, str], server: ServerTraits) -> int | None:
    knob = load_catalogue().get(name)
    default = fixed_default(knob, server) if knob else None
    return next((int(one) for one in (known.get(name), default) if one and one.isdigit()), None)
