"""Rules for writes: redo log, flushing, flush method, threads."""

from __future__ import annotations

from benchmarks.counted import counted
from benchmarks.storage.human import human_bytes
from tuning.configs.effective.expected import GIB
from tuning.configs.effective.variables import (
    CLEANERS,
    FLUSH_METHOD,
    INSTANCES,
    IO_CAPACITY,
    IO_CEILING,
)
from tuning.proposals.draft import Draft
from tuning.proposals.rules import Rule, holds_data

_MAX_IO_CAPACITY = 20_000
_MIN_IO_CAPACITY = 100
_FEW_CPUS = 32
_MANY_CPUS = 8
# Beyond this a commit waits longer for the device than for anything else.
_SLOW_COMMIT_US = 2_000
_MANY_CONNECTIONS = 16


def redo_for_an_hour(source: str, otherwise: Rule | None = None) -> Rule:
    """The redo of an hour at full load, if measured here; else as `otherwise` says."""

    def rule(draft: Draft) -> None:
        rate = draft.situation.redo_bytes_per_hour
        if rate is not None:
            reason = f"an hour of redo at full load, measured here: {human_bytes(rate)}"
            draft.set_redo(max(rate, GIB), reason, source)
        elif otherwise is not None:
            otherwise(draft)

    return rule


def redo_of_pool(times: float, source: str) -> Rule:
    """That multiple of the buffer pool, at least 1 GiB."""

    def rule(draft: Draft) -> None:
        wanted = draft.pool_bytes * times
        as_large = "as large as" if times == 1 else f"{times:g} times"
        size = f"{as_large} the buffer pool" if wanted >= GIB else "the least that the rule gives"
        reason = f"{size}, so that checkpoints do not force writes"
        draft.set_redo(max(wanted, GIB), reason, source)

    return rule


def redo_of(size: float, reason: str, source: str) -> Rule:
    """One size for every host."""
    return lambda draft: draft.set_redo(size, reason, source)


def io_capacity_by_probe(part: int, source: str) -> Rule:
    """One of so many parts of what the device writes per second, and twice that as the ceiling."""

    def rule(draft: Draft) -> None:
        writes = draft.situation.device.write_iops
        if writes is None:
            return
        capacity = min(max(_round(writes / part), _MIN_IO_CAPACITY), _MAX_IO_CAPACITY)
        share = "about" if part == 1 else f"1/{part} of"
        reason = f"{share} the {writes:,.0f} random writes per second of the device"
        draft.set(IO_CAPACITY, capacity, f"{reason}, within 100 to 20000", source)
        draft.set(IO_CEILING, 2 * capacity, "twice innodb_io_capacity", source)

    return rule


def io_capacity_of_kind(source: str) -> Rule:
    """Where no probe says more: little for a disk, more than the old default for an SSD."""

    def rule(draft: Draft) -> None:
        device = draft.situation.device
        if device.write_iops is not None:
            return
        if device.is_disk:
            draft.set(IO_CAPACITY, 200, "a disk cannot write more pages per second", source)
            draft.set(IO_CEILING, 400, "twice innodb_io_capacity", source)
        elif device.is_ssd and (draft.number(IO_CAPACITY) or 0) <= 200:
            draft.set(IO_CAPACITY, 2000, "200 is for disks, and this is an SSD", source)
            draft.set(IO_CEILING, 4000, "twice innodb_io_capacity", source)

    return rule


def direct_io(source: str) -> Rule:
    """Around the page cache where the file system can and the pool holds the data."""

    def rule(draft: Draft) -> None:
        if draft.situation.host.direct_io is not False and holds_data(draft):
            reason = "the buffer pool holds the data, so the page cache would hold it twice"
            draft.set(FLUSH_METHOD, "O_DIRECT", reason, source)

    return rule


def cleaner_per_instance(source: str) -> Rule:
    """On many CPUs a page cleaner for every part of the pool."""

    def rule(draft: Draft) -> None:
        parts, cpus = draft.number(INSTANCES), draft.situation.resources.logical_cpus
        if parts is not None and parts > 1 and cpus >= _MANY_CPUS:
            reason = f"one for each of the {parts:.0f} parts of the buffer pool"
            draft.set(CLEANERS, parts, reason, source)

    return rule


def no_log_writer_threads(source: str) -> Rule:
    """Threads of their own for the redo log take CPUs from the rest where there are few."""

    def rule(draft: Draft) -> None:
        cpus = draft.situation.resources.logical_cpus
        if cpus < _FEW_CPUS:
            reason = f"on {counted(cpus, 'CPU')} the committing threads write the redo log faster"
            draft.set("innodb_log_writer_threads", "OFF", reason, source)

    return rule


def free_pages(source: str) -> Rule:
    """Where the pool does not hold the data, as many free pages each second as reads need."""

    def rule(draft: Draft) -> None:
        reads, parts = draft.situation.device.read_iops, draft.number(INSTANCES) or 1
        if reads is None or holds_data(draft):
            return
        depth = min(max(_round(reads / parts), 1024), 8192)
        reason = f"each read needs a free page, and the device reads {reads:,.0f} per second"
        draft.set("innodb_lru_scan_depth", depth, reason, source)

    return rule


def read_threads(source: str) -> Rule:
    """Where the pool does not hold the data and there are CPUs, more threads that read."""

    def rule(draft: Draft) -> None:
        cpus = draft.situation.resources.logical_cpus
        if not holds_data(draft) and not draft.situation.device.is_disk:
            threads = min(max(cpus // 2, 4), 64)
            reason = f"half of the {cpus} CPUs, because the buffer pool does not hold the data"
            draft.set("innodb_read_io_threads", threads, reason, source)

    return rule


def group_commit(source: str) -> Rule:
    """Where a commit waits long for the device, let more of them share the wait."""

    def rule(draft: Draft) -> None:
        commit, connections = draft.situation.device.commit_us, draft.situation.host.connections
        if commit is None or commit < _SLOW_COMMIT_US or (connections or 0) < _MANY_CONNECTIONS:
            return
        reason = (
            f"a commit takes {commit / 1000:.1f} ms on the device; a short wait groups commits"
        )
        draft.set("binlog_group_commit_sync_delay", int(commit / 10), reason, source)

    return rule


def _round(value: float) -> int:
    """To two figures."""
    unit = int(10 ** max(len(f"{value:.0f}") - 2, 0))
    return round(value / unit) * unit
