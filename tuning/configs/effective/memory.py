"""The memory that a config uses in the worst case: buffer pool, log buffer and connections."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.counted import counted
from benchmarks.storage.human import human_bytes
from tuning.configs.effective.expected import MIB, Expected
from tuning.configs.effective.variables import LOG_BUFFER, POOL

#: Share of the budget for these; the rest is for the driver, the system and the server itself.
MAX_SHARE = 0.85
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
}
_STACK = "thread_stack"
_STACK_BYTES = 1 * MIB  # since MySQL 8.0.27; 256 to 292 KiB before and in MariaDB
_SHARED = ("query_cache_size",)


@dataclass(frozen=True)
class Need:
    """Bytes in the worst case: once for the server, and for each connection."""

    pool: int
    log_buffer: int
    shared: int
    per_connection: int

    def total(self, connections: int) -> int:
        """Bytes with that many active connections."""
        return self.pool + self.log_buffer + self.shared + connections * self.per_connection

    def text(self, connections: int) -> str:
        """The sum in words."""
        return (
            f"up to {human_bytes(self.total(connections))} "
            f"(buffer pool {human_bytes(self.pool)}, "
            f"log buffer {human_bytes(self.log_buffer + self.shared)}, "
            f"{counted(connections, 'connection')} of {human_bytes(self.per_connection)})"
        )


def memory_need(expected: Expected) -> Need | None:
    """The memory that the config may use; None if the pool's size cannot be known."""
    pool = expected.pool()
    if pool is None:
        return None
    per = sum(expected.whole(name) or default for name, default in _PER_CONNECTION.items())
    stack = expected.whole(_STACK) or _STACK_BYTES
    shared = sum(expected.whole(name) or 0 for name in _SHARED)
    return Need(pool, expected.whole(LOG_BUFFER) or 0, shared, per + stack)


def largest_cause(expected: Expected, need: Need, connections: int) -> str:
    """The knob of the config that uses the most memory; the pool if it sets none of them."""
    causes = {POOL: need.pool, LOG_BUFFER: need.log_buffer}
    for name in (*_PER_CONNECTION, _STACK):
        causes[name] = connections * (expected.whole(name) or 0)
    mine = {name: count for name, count in causes.items() if name in expected.knobs}
    return max(mine, key=lambda name: mine[name]) if mine else POOL
