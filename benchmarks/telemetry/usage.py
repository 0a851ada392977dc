"""Usage of the host between two snapshots. Every rate is per second of actual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from benchmarks.telemetry.snapshot import DiskCounters, Snapshot

_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Means over one stretch of time. Runs and samples have a column for each, named as here.

    `cpu_*_pct`: share of the whole host's CPU time, 0..100 (user with nice, sys with interrupts).
    `server_cores`: mysqld's CPU seconds (user + sys) per second, so 1.0 is one CPU kept busy.
    `*_iops`: requests per second, `*_mb_s`: 10^6 bytes per second, of the whole disk. None where
    the counter is missing at either end: no block device, server gone, logs with the data.
    """

    cpu_user_pct: float
    cpu_sys_pct: float
    cpu_iowait_pct: float
    cpu_steal_pct: float
    server_cores: float | None
    data_read_iops: float | None
    data_write_iops: float | None
    data_read_mb_s: float | None
    data_write_mb_s: float | None
    log_read_iops: float | None
    log_write_iops: float | None
    log_read_mb_s: float | None
    log_write_mb_s: float | None


#: The names of all usage figures.
USAGE_FIGURES = tuple(figure.name for figure in fields(Usage))


def usage_between(start: Snapshot, end: Snapshot) -> Usage:
    """Rates and shares from `start` to `end`; ValueError when no time passed between them."""
    elapsed = end.t - start.t
    total = end.cpu_total_s - start.cpu_total_s
    if elapsed <= 0 or total <= 0:
        raise ValueError(f"no time between the snapshots: {elapsed} s, {total} CPU s")

    def share(before: float, after: float) -> float:
        # iowait may run backwards by a little, says proc(5)
        return 100.0 * max(0.0, after - before) / total

    return Usage(
        cpu_user_pct=share(start.cpu_user_s, end.cpu_user_s),
        cpu_sys_pct=share(start.cpu_sys_s, end.cpu_sys_s),
        cpu_iowait_pct=share(start.cpu_iowait_s, end.cpu_iowait_s),
        cpu_steal_pct=share(start.cpu_steal_s, end.cpu_steal_s),
        server_cores=rate(start.server_cpu_s, end.server_cpu_s, elapsed),
        **_disk_rates("data", start.data, end.data, elapsed),
        **_disk_rates("log", start.log, end.log, elapsed),
    )


def rate(before: float | None, after: float | None, elapsed: float) -> float | None:
    """Growth per second; None when a value is missing or the counter started anew."""
    if before is None or after is None or after < before:
        return None
    return (after - before) / elapsed


def _disk_rates(
    disk: str, start: DiskCounters | None, end: DiskCounters | None, elapsed: float
) -> dict[str, float | None]:
    """Compute the fields of Usage that are about one disk."""

    def per_second(count: Callable[[DiskCounters], float]) -> float | None:
        if start is None or end is None:
            return None
        return rate(count(start), count(end), elapsed)

    return {
        f"{disk}_read_iops": per_second(lambda counters: counters.read_ios),
        f"{disk}_write_iops": per_second(lambda counters: counters.write_ios),
        f"{disk}_read_mb_s": per_second(lambda counters: counters.read_bytes / _MB),
        f"{disk}_write_mb_s": per_second(lambda counters: counters.write_bytes / _MB),
    }
