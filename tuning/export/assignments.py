"""The SQL for one variable: whether a running server accepts it, its syntax and its order.

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
from tuning.configs.effective.by_itself import default_ceiling
from tuning.configs.effective.expected import DEFAULT_CHUNK, MIB
from tuning.configs.effective.variables import (
    CHUNK,
    GTID_CONSISTENCY,
    GTID_MODE,
    INSTANCES,
    IO_CAPACITY,
    IO_CEILING,
    POOL,
    SIZE,
)
from tuning.configs.values import fixed_default
from tuning.export.facts import ExportFacts
from tuning.export.lines import default_of

# A limit must be raised before the value below it, and lowered after it.
CEILINGS = {
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
class Assignment:
    """A variable and its new value; `why` is the reason why it cannot be set now."""

    knob: Knob
    value: str
    how: ChangeMode
    why: str = ""


def persists(server: ServerTraits) -> bool:
    """Whether the server has SET PERSIST."""
    return not server.mariadb and server.version >= (8, 0, 0)


def literal(knob: Knob, value: str) -> str:
    """The value in SQL; raises ValueError for a value that is not of the knob's kind."""
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


def assign(knob: Knob, value: str, before: str | None, facts: ExportFacts) -> Assignment:
    """How a running server that has the value `before` can be changed."""
    server = facts.server
    dynamic = knob.dynamic(server)
    if dynamic is Dynamic.NO_EFFECT:
        return Assignment(knob, value, ChangeMode.NOTHING, "has no effect on this server")
    persisted = persists(server)
    if persisted and knob.name in NEVER_PERSISTED:
        return Assignment(knob, value, ChangeMode.FILE, "the server does not persist it")
    if dynamic not in (Dynamic.GLOBAL, Dynamic.SESSION):
        return Assignment(knob, value, ChangeMode.RESTART, "requires a restart")
    if knob.name == POOL and (why := _why_pool_waits(int(value), facts)):
        return Assignment(knob, value, ChangeMode.RESTART, why)
    if knob.name == SIZE and server.mariadb and server.version < _REDO_RESIZED_WELL:
        why = "on a running server of that release the change may never end"
        return Assignment(knob, value, ChangeMode.RESTART, why)
    if knob.name == "innodb_log_file_buffering" and value == "OFF":
        # Seen on 10.11.19 and 11.8.6: after ON it stays ON, without a warning.
        return Assignment(knob, value, ChangeMode.RESTART, "a running server may leave it ON")
    if knob.name == "innodb_max_purge_lag_wait":
        return Assignment(
            knob, value, ChangeMode.FILE, "makes the server wait once and is not kept"
        )
    if knob.name.startswith("thread_pool_") and not _has_thread_pool(facts):
        why = "a server that was started without a thread pool ignores it"
        return Assignment(knob, value, ChangeMode.RESTART, why)
    if knob.name == "query_cache_type" and not server.mariadb and before in (None, "OFF"):
        why = "a server that was started without a query cache requires a restart"
        return Assignment(knob, value, ChangeMode.RESTART, why)
    if knob.name == GTID_MODE and before not in _GTID_STEPS:
        return Assignment(
            knob, value, ChangeMode.FILE, "changes in steps, and the current mode is unknown"
        )
    return Assignment(knob, value, ChangeMode.NOW)


def with_ceilings(names: Mapping[str, str], facts: ExportFacts) -> dict[str, str]:
    """The values, plus those that a server computes at its start but not while running."""
    found = dict(names)
    capacity = found.get(IO_CAPACITY)
    if capacity is not None and IO_CEILING not in found:
        shown = facts.candidate_variables.get(IO_CEILING)
        found[IO_CEILING] = shown or default_ceiling(capacity, facts.server)
    return found


def in_order(assignments: Iterable[Assignment], before: Mapping[str, str]) -> list[Assignment]:
    """An order in which the server accepts every value; `before`: its values, as far as known."""
    found = {one.knob.name: one for one in assignments}
    for floor, ceiling in CEILINGS.items():
        if floor in found and ceiling in found:
            _put_first(found, *_way(floor, ceiling, found, before))
    if {GTID_MODE, GTID_CONSISTENCY} <= found.keys():
        turned_on = found[GTID_MODE].value.startswith("ON")
        first, second = GTID_CONSISTENCY, GTID_MODE
        _put_first(found, *((first, second) if turned_on else (second, first)))
    # These continue in the background. Until they end, the server ignores
    # innodb_log_file_buffering and has no adaptive hash index; then it restores the index as it
    # was at the beginning of the resize.
    for slow in (SIZE, POOL):
        if slow in found:
            found[slow] = found.pop(slow)
    return list(found.values())


def statements(
    one: Assignment, verb: str, before: str | None, server: ServerTraits
) -> Iterator[str]:
    """The statements of one variable: one, except for gtid_mode, which changes step by step.

    `verb` is GLOBAL, PERSIST or PERSIST_ONLY. The variable's name may not be the option's.
    """
    if one.knob.name == GTID_MODE and before in _GTID_STEPS and one.value in _GTID_STEPS:
        start, end = _GTID_STEPS.index(before), _GTID_STEPS.index(one.value)
        step = 1 if end > start else -1
        for index in range(start + step, end, step):
            yield f"SET GLOBAL gtid_mode = '{_GTID_STEPS[index]}';"
    yield f"SET {verb} {one.knob.variable(server)} = {literal(one.knob, one.value)};"


def _way(
    floor: str, ceiling: str, found: Mapping[str, Assignment], before: Mapping[str, str]
) -> tuple[str, str]:
    """The order of the two: the floor first only if the new ceiling is below the old floor."""
    old = before.get(floor)
    lowered = old is not None and float(found[ceiling].value) < float(old)
    return (floor, ceiling) if lowered else (ceiling, floor)


def _put_first(found: dict[str, Assignment], first: str, second: str) -> None:
    """Order two entries: the second is moved behind the first."""
    names = list(found)
    if names.index(first) > names.index(second):
        index = names.index(second)
        names.remove(first)
        names.insert(index, first)
        entries = {name: found[name] for name in names}
        found.clear()
        found.update(entries)


def _has_thread_pool(facts: ExportFacts) -> bool:
    return default_of("thread_handling", facts) in ("pool-of-threads", "loaded-dynamically")


def _why_pool_waits(size: int, facts: ExportFacts) -> str:
    """Why a running server cannot set a pool of exactly that size, "" if it can."""
    known = facts.baseline_variables if not facts.baseline_knobs else {}
    chunk = _default_number(CHUNK, known, facts.server)
    instances = int(known.get(INSTANCES, "1"))
    if size % ((DEFAULT_CHUNK if chunk is None else chunk or MIB) * max(1, instances)):
        return "not a multiple of the running server's chunk size, so it would be rounded"
    limit = load_catalogue().get(_POOL_LIMIT)
    if limit is not None and limit.exists_in(facts.server):
        most = _default_number(_POOL_LIMIT, known, facts.server)
        if most is None or size > most:
            return f"a running server cannot grow its pool beyond {_POOL_LIMIT}"
    return ""


def _default_number(name: str, known: Mapping[str, str], server: ServerTraits) -> int | None:
    knob = load_catalogue().get(name)
    text = known.get(name) or (fixed_default(knob, server) if knob else None)
    return int(text) if text is not None else None
