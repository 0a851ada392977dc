"""The memory that a config uses in the worst case."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.counted import counted
from benchmarks.storage.human import human_bytes
from tuning.configs.expected import MIB, Expected
from tuning.configs.variables import LOG_BUFFER, POOL

#: Share of the budget for the server; the rest is for the driver and the system.
MAX_SHARE = 0.9
# InnoDB's control structures as a share of the buffer pool, and what it needs whatever the pool.
# Seen in performance_schema of MySQL 9.7.4 with pools of 1 and 4 GiB; the Reference Manual says
# "approximately 10 %" of innodb_buffer_pool_size.
_CONTROL_SHARE = 0.05
_INNODB = 42 * MIB
# performance_schema with its defaults, seen on MySQL 9.7.4; that of MariaDB, off by default, was
# not measured.
_PERFORMANCE_SCHEMA = 230 * MIB
# Buffers of one connection and their defaults where the catalogue has none; each at most once in
# the workload's statements. Source: MySQL Reference Manual, "How MySQL Uses Memory".
_PER_CONNECTION = {
    "sort_buffer_size": 256 * 1024,
    "join_buffer_size": 256 * 1024,
    "read_buffer_size": 128 * 1024,
    "read_rnd_buffer_size": 256 * 1024,
    "binlog_cache_size": 32 * 1024,
    "binlog_stmt_cache_size": 32 * 1024,
    "net_buffer_length": 2 * 16 * 1024,
    "thread_stack": MIB,  # since MySQL 8.0.27; 256 to 292 KiB before and in MariaDB
}


@dataclass(frozen=True)
class Need:
    """Bytes in the worst case.

    `control`: InnoDB's structures for the pool. `fixed`: log buffer, query cache, performance
    schema, and what InnoDB needs whatever its pool.
    """

    pool: int
    control: int
    fixed: int
    per_connection: int

    def total(self, connections: int) -> int:
        """Bytes with that many active connections."""
        return self.pool + self.control + self.fixed + connections * self.per_connection

    def text(self, connections: int) -> str:
        """The sum in words."""
        return (
            f"up to {human_bytes(self.total(connections))} "
            f"(buffer pool {human_bytes(self.pool)} with control structures of "
            f"{human_bytes(self.control)}, log buffer and performance schema "
            f"{human_bytes(self.fixed)}, "
            f"{counted(connections, 'connection')} of {human_bytes(self.per_connection)})"
        )


def memory_need(expected: Expected, pool: int | None = None) -> Need | None:
    """Return the memory that the config may use, with that buffer pool or its own.

    None if the pool's size cannot be known.
    """
    pool = expected.pool() if pool is None else pool
    if pool is None:
        return None
    has_schema = not expected.target.mariadb and expected.text("performance_schema") == "ON"
    caches = sum(expected.whole(name) or 0 for name in (LOG_BUFFER, "query_cache_size"))
    per = sum(expected.whole(name) or default for name, default in _PER_CONNECTION.items())
    return Need(
        pool, int(pool * _CONTROL_SHARE), _INNODB + caches + _PERFORMANCE_SCHEMA * has_schema, per
    )


def largest_pool(expected: Expected, budget: int) -> int:
    """Return the bytes of a buffer pool that the other knobs leave of the budget."""
    beside = memory_need(expected, 0)
    left = budget * MAX_SHARE - (beside.total(expected.host.connections or 0) if beside else 0)
    return max(int(left / (1 + _CONTROL_SHARE)), 0)


def largest_cause(expected: Expected, need: Need, connections: int) -> str:
    """Return the knob of the config that uses the most memory; the pool if it sets none."""
    causes = {POOL: need.pool, LOG_BUFFER: expected.whole(LOG_BUFFER) or 0}
    for name in _PER_CONNECTION:
        causes[name] = connections * (expected.whole(name) or 0)
    mine = {name: count for name, count in causes.items() if name in expected.knobs}
    return max(mine, key=lambda name: mine[name]) if mine else POOL
