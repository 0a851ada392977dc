"""Rules for memory: buffer pool, table cache, session memory."""

from __future__ import annotations

from math import ceil

from benchmarks.counted import percent
from benchmarks.storage.human import human_bytes
from tuning.configs.effective.expected import GIB
from tuning.configs.effective.variables import INSTANCES, MAX_CONNECTIONS
from tuning.proposals.draft import Draft
from tuning.proposals.rules import Rule

# TPC-C has nine tables, and a transaction may have all of them open.
_TABLES = 9
# What AWS and Azure reckon for a connection: floor(memory / 12582880).
_PER_CONNECTION = 12_582_880


def pool_of_memory(share: float, source: str) -> Rule:
    """That share of the memory, whatever the data."""

    def rule(draft: Draft) -> None:
        memory = draft.situation.resources.memory_bytes

        def reason(size: int) -> str:
            of = percent(size / memory)
            return f"{of} of the {human_bytes(memory)} of memory that the server may use"

        draft.set_pool(memory * share, reason, source)

    return rule


def pool_of_data(times: float, most: float, source: str) -> Rule:
    """That multiple of the data, and at most that share of the memory."""

    def rule(draft: Draft) -> None:
        resources = draft.situation.resources
        wanted = min(resources.data_bytes * times, resources.memory_bytes * most)

        def reason(size: int) -> str:
            data = resources.data_bytes
            if size >= data:
                times = f"{size / data:.1f} times"
                return f"{times} the {human_bytes(data)} of data, so that it can grow"
            of = percent(size / data)
            return f"holds {of} of the {human_bytes(data)} of data, as the memory allows"

        draft.set_pool(wanted, reason, source)

    return rule


def pool_above_data(source: str) -> Rule:
    """The next whole GiB above the data; if that is too much, the most that fits."""

    def rule(draft: Draft) -> None:
        data = draft.situation.resources.data_bytes

        def reason(size: int) -> str:
            if size > data:
                return f"the next whole GiB above the {human_bytes(data)} of data"
            return f"the most that fits into memory, less than the {human_bytes(data)} of data"

        draft.set_pool(ceil(data * 1.1 / GIB) * GIB, reason, source)

    return rule


def instances(number: int, reason: str, source: str) -> Rule:
    """So many parts of the pool, where it is large enough to have parts."""

    def rule(draft: Draft) -> None:
        if draft.pool_bytes >= GIB:
            draft.set(INSTANCES, number, reason, source)

    return rule


def table_cache(source: str) -> Rule:
    """Enough open tables for every connection."""

    def rule(draft: Draft) -> None:
        connections = draft.situation.host.connections or 0
        needed, before = connections * _TABLES, draft.number("table_open_cache") or 0
        if needed > before:
            reason = f"{connections} connections may each have all {_TABLES} tables open"
            draft.set("table_open_cache", needed, reason, source)

    return rule


def connections_of_memory(source: str) -> Rule:
    """One connection for every 12 MiB of memory."""

    def rule(draft: Draft) -> None:
        memory = draft.situation.resources.memory_bytes
        most = max(int(memory // _PER_CONNECTION), draft.situation.host.connections or 1)
        draft.set(MAX_CONNECTIONS, most, "one for every 12 MiB of memory", source)

    return rule
