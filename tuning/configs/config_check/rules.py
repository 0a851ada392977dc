"""Rules across knobs, for conflicts that the server would otherwise resolve silently.

A rule about the host or the workload does not apply if these are unknown. Remarks that refuse
nothing are in `tuning.configs.config_check.remarks`.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.configs.config_check.workload import connections_needed, statements_needed
from tuning.configs.effective.expected import DEFAULT_CHUNK, MIB, Expected
from tuning.configs.effective.memory import MAX_SHARE, largest_cause, memory_need
from tuning.configs.effective.variables import (
    CAPACITY,
    FILES,
    FLUSH_METHOD,
    GTID_CONSISTENCY,
    GTID_MODE,
    IO_CAPACITY,
    IO_CEILING,
    MAX_CONNECTIONS,
    MAX_STATEMENTS,
    POOL,
    SIZE,
    has_capacity,
)
from tuning.configs.values import readable

Broken = tuple[str, str]

_CONCURRENCY = "innodb_thread_concurrency"
_DEFAULT_PAGE = 16 * 1024
_MAX_REDO_FILES = 512 * 1024**3


def broken_rules(expected: Expected, *, only_fatal: bool = False) -> list[Broken]:
    """(name, reason) of every rule that the knobs break.

    `only_fatal`: of rules that stop the server or the workload. Otherwise the server corrects the
    value, which a trial start shows.
    """
    rules = FATAL if only_fatal else RULES
    return [found for rule in rules if (found := rule(expected)) is not None]


def adjusted(expected: Expected) -> list[tuple[str, str, str]]:
    """(name, value, reason) of knobs of a file that a run sets differently."""
    found = []
    knobs = expected.knobs
    if GTID_CONSISTENCY in knobs and GTID_MODE not in knobs and expected.breaks_gtid():
        why = f"{GTID_MODE} = ON, the default of {expected.target}, requires it"
        found.append((GTID_CONSISTENCY, "ON", why))
    pool = None if expected.host.is_stated else fitting_pool(expected)
    if pool is not None:
        budget = human_bytes(expected.host.memory_budget_bytes or 0)
        why = (
            f"does not fit into the {budget} of memory here; state the memory and the data size "
            "of your server, and a study keeps their proportion"
        )
        found.append((POOL, f"{pool}", why))
    return found


def fitting_pool(expected: Expected) -> int | None:
    """The largest buffer pool that fits with the other knobs; None if that of the file does."""
    budget, need = expected.host.memory_budget_bytes, memory_need(expected)
    if budget is None or need is None or _memory(expected) is None:
        return None
    others = need.total(expected.host.connections or 0) - need.pool
    left = int(budget * MAX_SHARE - others) // DEFAULT_CHUNK * DEFAULT_CHUNK
    for pool in range(left, 0, -DEFAULT_CHUNK):  # the server may round it up again
        knobs = {**expected.knobs, POOL: f"{pool}"}
        if _memory(Expected(knobs, expected.target, expected.host)) is None:
            return pool
    return None


def _io_capacity(expected: Expected) -> Broken | None:
    # The maximum has no plain default: the server computes it from the capacity.
    capacity, ceiling = expected.whole(IO_CAPACITY), expected.knobs.get(IO_CEILING)
    if capacity is None or ceiling is None or capacity <= int(ceiling):
        return None
    if IO_CAPACITY in expected.knobs:
        return (
            IO_CEILING,
            f"{ceiling} is below {IO_CAPACITY} = {capacity}, so the server would lower the latter",
        )
    return (
        IO_CEILING,
        f"{ceiling} is below {IO_CAPACITY}, which is {capacity} on {expected.target} by default "
        f"and would be lowered; set {IO_CAPACITY} as well",
    )


def _dirty_pages(expected: Expected) -> Broken | None:
    low_name, high_name = "innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"
    low, high = expected.number(low_name), expected.number(high_name)
    if low is None or high is None or low <= high:
        return None
    if low_name in expected.knobs:
        default = "" if high_name in expected.knobs else " (the default)"
        return (
            low_name,
            f"{readable(low)} is above {high_name} = {readable(high)}{default}; the server "
            "would lower it",
        )
    if high_name in expected.knobs:
        return (
            high_name,
            f"{readable(high)} is below {low_name} = {readable(low)} (the default), which the "
            f"server would lower; set {low_name} as well",
        )
    return None


def _two_redo_sizes(expected: Expected) -> Broken | None:
    if CAPACITY not in expected.knobs:
        return None
    for name in (SIZE, FILES):
        if name in expected.knobs:
            return name, f"has no effect together with {CAPACITY}; keep one of the two"
    return None


def _redo_files(expected: Expected) -> Broken | None:
    if expected.target.mariadb or not {SIZE, FILES} & expected.knobs.keys():
        return None
    total = expected.redo()
    if total is None or total <= _MAX_REDO_FILES:
        return None
    name = SIZE if SIZE in expected.knobs else FILES
    return name, f"the redo log would be {readable(total)}, but the server allows at most 512G"


def _gtid(expected: Expected) -> Broken | None:
    if not expected.breaks_gtid():
        return None
    if GTID_MODE in expected.knobs:
        return GTID_MODE, f"ON requires {GTID_CONSISTENCY} = ON; the server would not start"
    return (
        GTID_CONSISTENCY,
        f"{expected.knobs[GTID_CONSISTENCY]} conflicts with {GTID_MODE} = ON, the default of "
        f"{expected.target}, and the server would not start; leave it out or set {GTID_MODE} = "
        "OFF as well",
    )


def _statement_log(expected: Expected) -> Broken | None:
    """InnoDB refuses every change then (error 1665), so nothing would be measured."""
    isolation = expected.text("transaction_isolation")
    if (
        expected.text("binlog_format") == "STATEMENT"
        and isolation in ("READ-COMMITTED", "READ-UNCOMMITTED")
        and expected.host.binary_log is not False
    ):
        name = "binlog_format" if "binlog_format" in expected.knobs else "transaction_isolation"
        return (
            name,
            f"binlog_format = STATEMENT conflicts with transaction_isolation = {isolation}: "
            "InnoDB would refuse to change rows",
        )
    return None


def _concurrency(expected: Expected) -> Broken | None:
    """Each thread inside InnoDB keeps 4 pages of redo log free (log0log.cc).

    MySQL 8.0.46 and 9.7.4 require 17 MiB with 100 threads and 148 MiB with 1000; a config that is
    only slightly too small is left to the trial start.
    """
    threads, redo = int(expected.knobs.get(_CONCURRENCY, "0")), expected.redo()
    if not threads or redo is None or expected.target.mariadb:
        return None
    needed = 2 * ((10 + threads) * 4 + 8) * _DEFAULT_PAGE
    if has_capacity(expected.target):  # of which the log keeps some files free
        needed = int(needed * 1.16)
    if needed < redo:
        return None
    return (
        _CONCURRENCY,
        f"{threads} threads need a redo log of more than {readable(-(-needed // MIB) * MIB)}, "
        f"but it is {readable(redo)}; the server would not start",
    )


def _memory(expected: Expected) -> Broken | None:
    budget, connections = (
        expected.host.memory_budget_bytes,
        expected.host.connections or 0,
    )
    need = memory_need(expected)
    if budget is None or need is None or need.total(connections) <= budget * MAX_SHARE:
        return None
    return (
        largest_cause(expected, need, connections),
        f"the server may use {need.text(connections)}, which is more than {percent(MAX_SHARE)} "
        f"of the {human_bytes(budget)} of memory available here",
    )


def _connections(expected: Expected) -> Broken | None:
    needed, connections = connections_needed(expected.host), expected.host.connections or 0
    return _too_low(
        expected,
        MAX_CONNECTIONS,
        needed,
        f"the workload opens {connections} connections and the advisor "
        f"{(needed or 0) - connections} more",
    )


def _statements(expected: Expected) -> Broken | None:
    needed = statements_needed(expected.host)
    why = f"{expected.host.connections} connections prepare up to {needed} statements"
    return _too_low(expected, MAX_STATEMENTS, needed, why)


def _too_low(expected: Expected, name: str, needed: int | None, why: str) -> Broken | None:
    allowed = expected.whole(name)
    if needed is None or allowed is None or allowed >= needed:
        return None
    return name, f"{allowed} is too low: {why}"


def _direct_io(expected: Expected) -> Broken | None:
    method = expected.unsupported_flush()
    if method is None or FLUSH_METHOD not in expected.knobs:
        return None
    return (
        FLUSH_METHOD,
        f"{method} is not supported by the file system of this device; the server would "
        "continue without it",
    )


Rule = Callable[[Expected], Broken | None]
RULES: tuple[Rule, ...] = (
    _io_capacity,
    _dirty_pages,
    _two_redo_sizes,
    _redo_files,
    _gtid,
    _statement_log,
    _concurrency,
    _memory,
    _connections,
    _statements,
    _direct_io,
)
FATAL: tuple[Rule, ...] = (
    _redo_files,
    _gtid,
    _statement_log,
    _concurrency,
    _memory,
    _connections,
    _statements,
)
