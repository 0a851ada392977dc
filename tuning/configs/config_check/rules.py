"""Rules across knobs, for conflicts that the server would otherwise resolve silently.

A rule about the host or the workload does not apply if these are unknown. Remarks that refuse
nothing are in `tuning.configs.config_check.remarks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.expected import DEFAULT_CHUNK, MIB, Expected, HostFacts
from tuning.configs.effective.memory import (
    MAX_SHARE,
    largest_cause,
    largest_pool,
    memory_need,
)
from tuning.configs.effective.variables import (
    CAPACITY,
    FILES,
    FLUSH_METHOD,
    GTID_CONSISTENCY,
    GTID_MODE,
    MAX_CONNECTIONS,
    MAX_STATEMENTS,
    POOL,
    REDO,
    SIZE,
    has_capacity,
)
from tuning.configs.notes import Action, Note
from tuning.configs.values import readable

_CONCURRENCY = "innodb_thread_concurrency"
_DEFAULT_PAGE = 16 * 1024
_MAX_REDO_FILES = 512 * 1024**3
# Our connections besides the driver's: telemetry, the check of the server, a spare one.
_OWN_CONNECTIONS = 5
# tpcc-mysql and our sysbench script prepare 35 each.
_STATEMENTS_PER_CONNECTION = 40


def fit_to_workload(expected: Expected, *, also_set: bool) -> tuple[dict[str, str], list[Note]]:
    """Return the limits that are too low for the workload, raised, with a note for each.

    Only with `also_set` a limit that the config sets is raised: presets were made for another
    workload.
    """
    found: dict[str, str] = {}
    notes: list[Note] = []
    for name, (needed, spare, _) in _needed(expected.host.connections).items():
        has, is_set = expected.whole(name), name in expected.knobs
        if has is None or has >= needed or (is_set and not also_set):
            continue
        found[name] = f"{needed + spare}"
        detail = (
            f"{has}{'' if is_set else ' by default'} is too low for the workload's "
            f"{expected.host.connections} connections; raised to {found[name]}"
        )
        notes.append(Note(name, Action.ADJUSTED, detail))
    return found, notes


class Broken(NamedTuple):
    """A rule that a config breaks: its knob, and a reason that follows the name."""

    name: str
    reason: str


Rule = Callable[[Expected], Iterator[tuple[str, str]]]


def broken_rules(expected: Expected, *, only_fatal: bool = False) -> list[Broken]:
    """Return every rule that the knobs break.

    `only_fatal`: of rules that stop the server or the workload. Otherwise the server corrects the
    value, which a trial start shows.
    """
    rules = FATAL if only_fatal else (*CORRECTED, *FATAL)
    return [Broken(name, reason) for rule in rules for name, reason in rule(expected)]


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


def _at_most(expected: Expected) -> Iterator[tuple[str, str]]:
    """A variable that may not exceed another one (catalogue: `at_most`)."""
    knobs = expected.knobs
    for lower, limit in load_catalogue().limited():
        upper = limit.knob
        low, high = expected.number(lower), expected.number(upper)
        if not knobs.keys() & {lower, upper} or low is None or high is None or low <= high:
            continue
        if lower in knobs and (limit.moves == "lower" or upper not in knobs):
            default = "" if upper in knobs else " (the default)"
            above = f"{readable(low)} is above {upper} = {readable(high)}{default}"
            yield lower, f"{above}; the server would lower it"
        else:
            default = "" if lower in knobs else f", the default of {expected.target}"
            remedy = "" if lower in knobs else f"; set {lower} as well"
            below = f"{readable(high)} is below {lower} = {readable(low)}{default}"
            yield upper, f"{below}, which the server would lower{remedy}"


def _two_redo_sizes(expected: Expected) -> Iterator[tuple[str, str]]:
    old = [name for name in (SIZE, FILES) if name in expected.knobs]
    if CAPACITY in expected.knobs and old:
        yield old[0], f"has no effect together with {CAPACITY}; keep one of the two"


def _redo_files(expected: Expected) -> Iterator[tuple[str, str]]:
    total = expected.redo() or 0
    old = [name for name in (SIZE, FILES) if name in expected.knobs]
    if old and not expected.target.mariadb and total > _MAX_REDO_FILES:
        yield (
            old[0],
            f"the redo log would be {readable(total)}, but the server allows at most 512G",
        )


def _gtid(expected: Expected) -> Iterator[tuple[str, str]]:
    if not expected.breaks_gtid():
        return
    if GTID_MODE in expected.knobs:
        yield GTID_MODE, f"ON requires {GTID_CONSISTENCY} = ON; the server would not start"
        return
    yield (
        GTID_CONSISTENCY,
        f"{expected.knobs[GTID_CONSISTENCY]} conflicts with {GTID_MODE} = ON, the default of "
        f"{expected.target}, and the server would not start; leave it out or set {GTID_MODE} = "
        "OFF as well",
    )


def _statement_log(expected: Expected) -> Iterator[tuple[str, str]]:
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


def _concurrency(expected: Expected) -> Iterator[tuple[str, str]]:
    """Each thread inside InnoDB keeps 4 pages of redo log free (log0log.cc).

    MySQL 8.0.46 and 9.7.4 require 17 MiB with 100 threads and 148 MiB with 1000; a config that is
    only slightly too small is left to the trial start.
    """
    threads, redo = int(expected.knobs.get(_CONCURRENCY, "0")), expected.redo()
    if not threads or redo is None or expected.target.mariadb:
        return
    needed = 2 * ((10 + threads) * 4 + 8) * _DEFAULT_PAGE
    if has_capacity(expected.target):  # of which the log keeps some files free
        needed = int(needed * 1.16)
    if needed >= redo:
        yield (
            _CONCURRENCY,
            f"{threads} threads need a redo log of more than "
            f"{readable(-(-needed // MIB) * MIB)}, but it is {readable(redo)}; the server would "
            "not start",
        )


def _memory(expected: Expected) -> Iterator[tuple[str, str]]:
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


def _limits(expected: Expected) -> Iterator[tuple[str, str]]:
    for name, (needed, _, why) in _needed(expected.host.connections).items():
        allowed = expected.whole(name)
        if allowed is not None and allowed < needed:
            yield name, f"{allowed} is too low: {why}"


def _needed(connections: int | None) -> dict[str, tuple[int, int, str]]:
    """Return the least that a limit must be, what is added if it is raised, and why."""
    if connections is None:
        return {}
    why = f"the workload opens {connections} connections and the advisor {_OWN_CONNECTIONS} more"
    statements = connections * _STATEMENTS_PER_CONNECTION
    prepares = f"{connections} connections prepare up to {statements} statements"
    return {
        MAX_CONNECTIONS: (connections + _OWN_CONNECTIONS, 15, why),
        MAX_STATEMENTS: (statements, 1000, prepares),
    }


def _direct_io(expected: Expected) -> Iterator[tuple[str, str]]:
    method = expected.unsupported_flush()
    if method is not None and FLUSH_METHOD in expected.knobs:
        yield (
            FLUSH_METHOD,
            f"{method} is not supported by the file system of this device; the server would "
            "continue without it",
        )


#: The server corrects these values and starts.
CORRECTED: tuple[Rule, ...] = (_at_most, _two_redo_sizes, _direct_io)
FATAL: tuple[Rule, ...] = (_redo_files, _gtid, _statement_log, _concurrency, _memory, _limits)
