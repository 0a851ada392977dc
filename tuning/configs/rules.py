"""Rules across knobs, for conflicts that the server would otherwise resolve silently.

A rule about the host or the workload does not apply if these are unknown. Remarks refuse nothing:
a study ranks effective values (`tuning.configs.readback`), and remarks report them earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.expected import DEFAULT_CHUNK, Expected, HostFacts
from tuning.configs.line import Action, Note
from tuning.configs.memory import MAX_SHARE, largest_cause, largest_pool, memory_need
from tuning.configs.values import readable
from tuning.configs.variables import (
    CAPACITY,
    CLEANERS,
    DEDICATED,
    FILES,
    FLUSH_METHOD,
    GTID_CONSISTENCY,
    GTID_MODE,
    INSTANCES,
    MAX_CONNECTIONS,
    MAX_STATEMENTS,
    POOL,
    REDO,
    SIZE,
    dedicated_chooses_flush,
)

# Our connections besides the driver's: telemetry, the check of the server, a spare one.
_OWN_CONNECTIONS = 5
# tpcc-mysql and our sysbench script prepare 35 each.
_STATEMENTS_PER_CONNECTION = 40
_SERVERS_OWN_FILES = 10

#: Names of knobs, each with a reason that follows the name.
Reasons = Iterator[tuple[str, str]]


class Broken(NamedTuple):
    """A rule that a config breaks: its knob, and a reason that follows the name."""

    name: str
    reason: str


def broken_rules(expected: Expected, *, only_fatal: bool = False) -> list[Broken]:
    """Return every rule that the knobs break.

    `only_fatal`: of rules that stop the server or the workload. Otherwise the server corrects the
    value, which a trial start shows.
    """
    rules = _FATAL if only_fatal else (*_CORRECTED, *_FATAL)
    return [Broken(name, reason) for rule in rules for name, reason in rule(expected)]


def remarks(expected: Expected) -> list[Note]:
    """Notes on values that the server will round or ignore."""
    return [
        Note(name, Action.KEPT, detail) for remark in _REMARKS for name, detail in remark(expected)
    ]


def fit_to_workload(expected: Expected) -> list[tuple[str, str, str]]:
    """Return (name, value, reason) of limits that are too low for the workload, raised."""
    connections = expected.host.connections
    if connections is None:
        return []
    found = []
    for name, needed, spare in (
        (MAX_CONNECTIONS, connections + _OWN_CONNECTIONS, 15),
        (MAX_STATEMENTS, connections * _STATEMENTS_PER_CONNECTION, 1000),
    ):
        has = expected.whole(name)
        if has is not None and has < needed:
            default = "" if name in expected.knobs else " by default"
            reason = (
                f"{has}{default} is too low for the workload's {connections} connections; "
                f"raised to {needed + spare}"
            )
            found.append((name, f"{needed + spare}", reason))
    return found


def adjusted(expected: Expected) -> list[tuple[str, str, str]]:
    """Return (name, value, reason) of knobs from elsewhere that a run sets differently."""
    found = []
    knobs = expected.knobs
    if GTID_CONSISTENCY in knobs and GTID_MODE not in knobs and expected.breaks_gtid():
        why = f"{GTID_MODE} = ON, the default of {expected.target}, requires it"
        found.append((GTID_CONSISTENCY, "ON", why))
    pool = None if expected.host.is_stated else _fitting_pool(expected)
    if pool is not None:
        budget = human_bytes(expected.host.memory_budget_bytes or 0)
        why = (
            f"does not fit into the {budget} of memory here; state the memory and the data size "
            "of your server, and a study of TPC-C keeps their proportion"
        )
        found.append((POOL, f"{pool}", why))
    return found


def _fitting_pool(expected: Expected) -> int | None:
    """The largest buffer pool that fits with the other knobs; None if that of the file does."""
    if not any(_memory(expected)):
        return None
    usual = Expected({}, expected.target, expected.host).pool() or 0
    most = max(largest_pool(expected, expected.host.memory_budget_bytes or 0), usual)
    # The server may round a size up again.
    for pool in range(most // DEFAULT_CHUNK * DEFAULT_CHUNK, 0, -DEFAULT_CHUNK):
        knobs = {**expected.knobs, POOL: f"{pool}"}
        if not any(_memory(Expected(knobs, expected.target, expected.host))):
            return pool
    return None


def too_large_redo(
    knobs: Mapping[str, str], target: ServerTraits, host: HostFacts, free_bytes: int
) -> Broken | None:
    """Return the problem of a redo log that does not fit into what the data leaves.

    Its name is "" where the server sizes its redo log itself.
    """
    redo = Expected(knobs, target, host).redo() or 0
    if redo <= free_bytes:
        return None
    reason = (
        f"a redo log of {readable(redo)} does not fit on the device: "
        f"the data leaves {human_bytes(max(free_bytes, 0))}"
    )
    return Broken(next((name for name in REDO if name in knobs), ""), reason)


def _at_most(expected: Expected) -> Reasons:
    """A variable that may not exceed another one (catalogue: `at_most`)."""
    knobs = expected.knobs
    for lower, limit in load_catalogue().limited():
        upper = limit.knob
        low, high = expected.number(lower), expected.number(upper)
        if not knobs.keys() & {lower, upper} or low is None or high is None or low <= high:
            continue
        if lower in knobs and (limit.moves == "lower" or upper not in knobs):
            above = f"{readable(low)} is above {upper} = {readable(high)}"
            yield lower, f"{above}; the server would lower it"
        else:
            below = f"{readable(high)} is below {lower} = {readable(low)}"
            yield upper, f"{below}, which the server would lower; set both"


def _two_redo_sizes(expected: Expected) -> Reasons:
    old = [name for name in (SIZE, FILES) if name in expected.knobs]
    if CAPACITY in expected.knobs and old:
        yield old[0], f"has no effect together with {CAPACITY}; keep one of the two"


def _direct_io(expected: Expected) -> Reasons:
    method = expected.unsupported_flush()
    if method is not None and FLUSH_METHOD in expected.knobs:
        yield (
            FLUSH_METHOD,
            f"{method} is not supported by the file system of this device; the server would "
            "continue without it",
        )


def _gtid(expected: Expected) -> Reasons:
    if expected.breaks_gtid():
        name = GTID_MODE if GTID_MODE in expected.knobs else GTID_CONSISTENCY
        is_default = "" if GTID_MODE in expected.knobs else f", the default of {expected.target}"
        yield (
            name,
            f"{GTID_MODE} = ON{is_default} requires {GTID_CONSISTENCY} = ON; the server would "
            "not start",
        )


def _statement_log(expected: Expected) -> Reasons:
    """InnoDB refuses every change then (error 1665), so nothing would be measured."""
    isolation = expected.text("transaction_isolation")
    logs = expected.host.binary_log is not False
    reads_committed = isolation in ("READ-COMMITTED", "READ-UNCOMMITTED")
    if logs and reads_committed and expected.text("binlog_format") == "STATEMENT":
        name = "binlog_format" if "binlog_format" in expected.knobs else "transaction_isolation"
        yield (
            name,
            f"binlog_format = STATEMENT conflicts with transaction_isolation = {isolation}: "
            "InnoDB would refuse to change rows",
        )


def _memory(expected: Expected) -> Reasons:
    budget, connections = expected.host.memory_budget_bytes, expected.host.connections or 0
    need = memory_need(expected)
    if budget is None or need is None or need.total(connections) <= budget * MAX_SHARE:
        return
    # Where the server's own defaults do not fit, a trial start decides.
    usual = memory_need(Expected({}, expected.target, expected.host))
    if usual is not None and need.total(connections) <= usual.total(connections):
        return
    yield (
        largest_cause(expected, need, connections),
        f"the server may use {need.text(connections)}, which is more than {percent(MAX_SHARE)} "
        f"of the {human_bytes(budget)} of memory available here",
    )


def _rounded(expected: Expected) -> Reasons:
    knobs, pool = expected.knobs, expected.pool()
    if pool is not None and int(knobs.get(POOL, pool)) != pool:
        yield POOL, _becomes(int(knobs[POOL]), pool, "whole chunks of every instance")
    instances = None if pool is None else expected.instances(pool)
    if instances is not None and not expected.target.mariadb:
        reasons = {
            INSTANCES: "one below 1 GiB of buffer pool",
            CLEANERS: "at most one per buffer pool instance",
        }
        for name, why in reasons.items():
            if int(knobs.get(name, "0")) > instances:
                yield name, _becomes(int(knobs[name]), instances, why)
    files, cache = expected.host.open_files, knobs.get("table_open_cache")
    connections = expected.whole(MAX_CONNECTIONS)
    if files is not None and cache is not None and connections is not None:
        most = max(0, (files - _SERVERS_OWN_FILES - connections) // 2)
        if int(cache) > most:
            why = f"{files} open files are allowed, one per connection and two per table"
            yield "table_open_cache", _becomes(int(cache), most, why)


def _all_connections(expected: Expected) -> Reasons:
    budget, need = expected.host.memory_budget_bytes, memory_need(expected)
    allowed = int(expected.knobs.get(MAX_CONNECTIONS, "0"))
    if budget is not None and need is not None and allowed and need.total(allowed) > budget:
        yield (
            MAX_CONNECTIONS,
            f"with all {allowed} connections active at once the server could use "
            f"{human_bytes(need.total(allowed))} of {human_bytes(budget)}; the workload opens "
            "fewer",
        )


def _page_cache(expected: Expected) -> Reasons:
    method = expected.unsupported_flush()
    if method is not None and FLUSH_METHOD not in expected.knobs:
        yield (
            FLUSH_METHOD,
            f"is {method} by default, which the device's file system does not support: the "
            "server will use the page cache instead",
        )


def _idle(expected: Expected) -> Reasons:
    """Settings that depend on another that is off, or that the server does not choose."""
    if expected.dedicated():
        chosen = (FLUSH_METHOD,) if dedicated_chooses_flush(expected.target) else ()
        for name in (POOL, CAPACITY, *chosen):
            if name in expected.knobs:
                yield name, f"is set, so {DEDICATED} does not choose it"
    is_pooled = expected.text("thread_handling") != "one-thread-per-connection"
    for name in expected.knobs:
        if name.startswith("thread_pool_") and not is_pooled:
            yield name, "has no effect without thread_handling = pool-of-threads"
        is_logged = name == "sync_binlog" or name.startswith("binlog_")
        if is_logged and expected.host.binary_log is False:
            yield name, "has no effect: this study runs without the binary log"
    if expected.knobs.get("query_cache_size", "0") != "0" and (
        expected.text("query_cache_type") in ("OFF", "0")
    ):
        yield "query_cache_size", "uses memory without effect while query_cache_type is OFF"


def _becomes(asked: int, effective: int, why: str) -> str:
    return f"requested {readable(asked)}, effective {readable(effective)}: {why}"


_Rules = tuple[Callable[[Expected], Reasons], ...]
# The server corrects these values and starts.
_CORRECTED: _Rules = (_at_most, _two_redo_sizes, _direct_io)
_FATAL: _Rules = (_gtid, _statement_log, _memory)
_REMARKS: _Rules = (_rounded, _all_connections, _page_cache, _idle)
