"""Usage of the host between two snapshots, and of a run second by second.

Every rate is per second of actual time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any

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
    """Compute rates and shares; ValueError when no time passed between the snapshots."""
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
    """Return the growth per second; None if a value is missing or the counter started anew."""
    if before is None or after is None or after < before:
        return None
    return (after - before) / elapsed


def _disk_rates(
    disk: str, start: DiskCounters | None, end: DiskCounters | None, elapsed: float
) -> dict[str, float | None]:
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


#: One second of a run by the names of a sample's columns. `second` is counted from the start of
#: the measured interval, below 0 in the warm-up; `elapsed_s` is the time between its snapshots.
#: `server_rss_bytes` is mysqld's resident memory at its end. `completed` and `p95_ms` come from
#: the driver, `commits` from the server. None: not seen, or outside of the measured interval.
SampleRow = dict[str, float | int | None]
_COUNTED = ("completed", "commits", "p95_ms")
SAMPLE_COLUMNS = ("second", "elapsed_s", "server_rss_bytes", *USAGE_FIGURES, *_COUNTED)


def sample_rows(
    snapshots: Iterable[Snapshot],
    origin: float,
    per_second: Mapping[str, Sequence[Any]],
    *,
    period_s: float = 1.0,
) -> list[SampleRow]:
    """Return the seconds between snapshots on neighbouring ticks of `origin + n * period_s`.

    Each snapshot belongs to its nearest tick; of two on one tick the nearer counts. A tick without
    a snapshot makes the seconds around it rows without usage: the work done in them is not
    spread over their neighbours. `per_second` are values by column of each measured second from
    second 0 on. `period_s` other than 1 is for tests.
    """
    on_tick: dict[int, Snapshot] = {}
    for snapshot in snapshots:
        periods = (snapshot.t - origin) / period_s
        tick = math.floor(periods + 0.5)
        rival = on_tick.get(tick)
        if rival is None or abs(periods - tick) < abs((rival.t - origin) / period_s - tick):
            on_tick[tick] = snapshot
    rows: dict[int, SampleRow] = {}
    for tick, following in pairwise(sorted(on_tick)):
        for second in range(tick, following):
            rows[second] = _row(second)
        if following == tick + 1:
            start, end = on_tick[tick], on_tick[following]
            seen = {"elapsed_s": end.t - start.t, "server_rss_bytes": end.server_rss_bytes}
            rows[tick] |= asdict(usage_between(start, end)) | seen
    for name, values in per_second.items():
        for second, value in enumerate(values):
            rows.setdefault(second, _row(second))[name] = value
    return [rows[second] for second in sorted(rows)]


def _row(second: int) -> SampleRow:
    return dict.fromkeys(SAMPLE_COLUMNS) | {"second": second}
