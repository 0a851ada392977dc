"""Remarks on values that the server will change or ignore; no refusals.

A study ranks effective values (`tuning.configs.effective.readback`); this only reports them
earlier, and names settings without effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.storage.human import human_bytes
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.memory import memory_need
from tuning.configs.effective.variables import (
    CAPACITY,
    CHUNK,
    CLEANERS,
    DEDICATED,
    FLUSH_METHOD,
    INSTANCES,
    LOG_BUFFER,
    MAX_CONNECTIONS,
    POOL,
    dedicated_chooses_flush,
)
from tuning.configs.notes import Action, Note
from tuning.configs.values import readable

_MAX_CHUNKS = 1000  # MySQL Reference Manual, innodb_buffer_pool_chunk_size
_SERVERS_OWN_FILES = 10

Remarks = Iterator[tuple[str, str]]


def remarks(expected: Expected) -> list[Note]:
    """Notes on values that the server will round or ignore."""
    return [
        Note(name, Action.KEPT, detail) for remark in _REMARKS for name, detail in remark(expected)
    ]


def _pool(expected: Expected) -> Remarks:
    asked, pool = expected.knobs.get(POOL), expected.pool()
    if pool is None:
        return
    if asked is not None and int(asked) != pool:
        yield POOL, _becomes(int(asked), pool, "whole chunks of every instance")
    instances = expected.instances(pool)
    if expected.target.mariadb or instances is None:
        return
    reasons = {
        INSTANCES: "one below 1 GiB of buffer pool",
        CLEANERS: "at most one per buffer pool instance",
    }
    for name, why in reasons.items():
        wanted = int(expected.knobs.get(name, "0"))
        if wanted > instances:
            yield name, _becomes(wanted, instances, why)
    chunk = expected.whole(CHUNK)
    if chunk and CHUNK in expected.knobs:
        if chunk * instances > pool:
            yield CHUNK, "is larger than a buffer pool instance, so the server reduces it"
        elif pool // chunk > _MAX_CHUNKS:
            yield CHUNK, f"{pool // chunk} chunks; the manual recommends at most {_MAX_CHUNKS}"


def _dedicated(expected: Expected) -> Remarks:
    if not expected.dedicated():
        return
    chosen = (FLUSH_METHOD,) if dedicated_chooses_flush(expected.target) else ()
    for name in (POOL, CAPACITY, *chosen):
        if name in expected.knobs:
            yield name, f"is set, so {DEDICATED} does not choose it"


def _all_connections(expected: Expected) -> Remarks:
    budget, need = expected.host.memory_budget_bytes, memory_need(expected)
    allowed = expected.knobs.get(MAX_CONNECTIONS)
    if budget is None or need is None or allowed is None or need.total(int(allowed)) <= budget:
        return
    yield (
        MAX_CONNECTIONS,
        f"with all {allowed} connections active at once the server could use "
        f"{human_bytes(need.total(int(allowed)))} of {human_bytes(budget)}; the workload opens "
        "fewer",
    )


def _open_files(expected: Expected) -> Remarks:
    limit, connections = expected.host.open_files, expected.whole(MAX_CONNECTIONS)
    cache = expected.knobs.get("table_open_cache")
    if limit is None or connections is None:
        return
    room = max(0, (limit - _SERVERS_OWN_FILES - connections) // 2)
    if cache is not None and int(cache) > room:
        why = f"{limit} open files are allowed, one per connection and two per table"
        yield "table_open_cache", _becomes(int(cache), room, why)
    files = expected.knobs.get("innodb_open_files")
    if files is not None and int(files) > limit:
        yield "innodb_open_files", _becomes(int(files), limit, "the limit on open files")


def _backlog(expected: Expected) -> Remarks:
    backlog, connections = expected.knobs.get("back_log"), expected.host.connections
    if backlog is not None and connections is not None and int(backlog) < connections:
        yield (
            "back_log",
            f"{backlog} is less than the workload's {connections} connections, which are opened "
            "at once: some may have to retry",
        )


def _log_buffer(expected: Expected) -> Remarks:
    buffer, redo = expected.knobs.get(LOG_BUFFER), expected.redo()
    if buffer is not None and redo is not None and int(buffer) > redo:
        yield (
            LOG_BUFFER,
            f"{readable(int(buffer))} is larger than the whole redo log ({readable(redo)})",
        )


def _direct_io(expected: Expected) -> Remarks:
    default = expected.unsupported_flush()
    if default is not None and FLUSH_METHOD not in expected.knobs:
        yield (
            FLUSH_METHOD,
            f"is {default} by default, which the device's file system does not support: the "
            "server will use the page cache instead",
        )


def _isolation(expected: Expected) -> Remarks:
    name = "transaction_isolation"
    if expected.knobs.get(name) == "READ-UNCOMMITTED":
        yield (
            name,
            "READ-UNCOMMITTED gives up isolation for speed: transactions read uncommitted rows of "
            "others, which may be rolled back; durability is not affected",
        )


def _idle(expected: Expected) -> Remarks:
    """Settings that depend on another that is off."""
    handling = expected.text("thread_handling")
    for name in expected.knobs:
        if name.startswith("thread_pool_") and handling == "one-thread-per-connection":
            yield name, "has no effect without thread_handling = pool-of-threads"
    if expected.knobs.get("query_cache_size", "0") != "0" and (
        expected.text("query_cache_type") in ("OFF", "0")
    ):
        yield "query_cache_size", "uses memory without effect while query_cache_type is OFF"
    if expected.host.binary_log is False:
        for name in expected.knobs:
            if name == "sync_binlog" or name.startswith("binlog_"):
                yield name, "has no effect: this study runs without the binary log"


_REMARKS: tuple[Callable[[Expected], Remarks], ...] = (
    _pool,
    _dedicated,
    _all_connections,
    _open_files,
    _backlog,
    _log_buffer,
    _direct_io,
    _isolation,
    _idle,
)


def _becomes(asked: int, effective: int, why: str) -> str:
    return f"requested {readable(asked)}, effective {readable(effective)}: {why}"
