"""The conditions of a run: what other load took from it, in figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.telemetry.process_usage import ProcessUsage
from benchmarks.telemetry.snapshot import DiskCounters, Snapshot
from benchmarks.telemetry.usage import rate, usage_between

_MB = 1_000_000
# Where other processes' I/O can't be seen, this much more than mysqld wrote is put down to the
# file system's journal for mysqld's own small synced writes.
_JOURNAL = 2.0


@dataclass(frozen=True)
class Conditions:
    """Means over the measured interval; None if the host does not report it.

    steal_pct: share of the host's CPU time that the hypervisor gave to others.
    foreign_cpu_pct: share of the host's CPU time used by other programs than mysqld, the driver,
        the advisor's worker and the kernel's own threads (which mostly work for mysqld).
    foreign_io_pct: share of the time in which the disk of data or logs was busy for others: its
        busy time by the share of others in the bytes moved. foreign_io_mb_s: those bytes, 10^6.
    stalled_s: seconds in which nothing on the host ran. asleep_s: in which it was suspended.
    swap_mb_s: 10^6 bytes per second to and from swap.
    throttled_pct: share of the time in which a CPU was throttled because of its temperature.
    by_cpu, by_io: the foreign programs that used most, (name, same unit as the sum).
    """

    seconds: float
    steal_pct: float
    foreign_cpu_pct: float | None
    foreign_io_pct: float | None
    foreign_io_mb_s: float | None
    stalled_s: float
    asleep_s: float | None
    swap_mb_s: float | None
    throttled_pct: float | None
    by_cpu: tuple[tuple[str, float], ...] = ()
    by_io: tuple[tuple[str, float], ...] = ()


def conditions_between(
    start: Snapshot,
    end: Snapshot,
    *,
    stalled_s: float,
    processes: ProcessUsage | None,
    driver_cpu_s: float,
) -> Conditions:
    """Compute the conditions from the marks, the sampler's stalls and the count of processes.

    `driver_cpu_s` is the driver's CPU time between the marks; ValueError when no time passed.
    """
    elapsed, total_s = end.t - start.t, end.cpu_total_s - start.cpu_total_s
    steal_pct = usage_between(start, end).cpu_steal_pct
    moved, share = _foreign_io(start, end, processes)
    moved_mb_s = None if moved is None else moved / _MB / elapsed
    foreign = processes.foreign if processes is not None else ()

    def grown(counter: str) -> float | None:
        before, after = getattr(start.host, counter, None), getattr(end.host, counter, None)
        return None if before is None or after is None else max(0.0, after - before)

    swapped, throttled_s = grown("swap_bytes"), _throttled_s(start, end)
    return Conditions(
        seconds=elapsed,
        steal_pct=steal_pct,
        foreign_cpu_pct=_foreign_cpu_pct(start, end, processes, driver_cpu_s),
        foreign_io_pct=share,
        foreign_io_mb_s=moved_mb_s,
        stalled_s=stalled_s,
        asleep_s=grown("asleep_s"),
        swap_mb_s=None if swapped is None else swapped / _MB / elapsed,
        throttled_pct=None if throttled_s is None else min(100.0, 100.0 * throttled_s / elapsed),
        by_cpu=_most((n.name, 100.0 * n.cpu_s / total_s) for n in foreign),
        # A process that fetches its child's exit status is charged with the child's I/O of all
        # its life: no program moved more than all together did.
        by_io=_most((n.name, min(n.io_bytes / _MB / elapsed, moved_mb_s or 0.0)) for n in foreign),
    )


def _foreign_cpu_pct(
    start: Snapshot, end: Snapshot, processes: ProcessUsage | None, driver_cpu_s: float
) -> float | None:
    """Return the larger of two figures that each miss something.

    What was used less what is known to be ours sees a compiler's hundreds of short-lived
    processes, but interrupts have to be left out of it: some kernels charge them to the process
    that they met as well, ours mostly. The sum over the foreign processes that were counted has
    no such error, but the short-lived ones are missing from it.
    """
    if start.server_cpu_s is None or end.server_cpu_s is None:
        return None
    used = _busy_s(end) - _busy_s(start)
    ours = (end.server_cpu_s - start.server_cpu_s) + (end.own_cpu_s - start.own_cpu_s)
    kernel = counted = 0.0
    if processes is not None and processes.seconds > 0:
        scale = (end.t - start.t) / processes.seconds
        kernel = processes.kernel_cpu_s * scale
        counted = sum(n.cpu_s for n in processes.foreign) * scale
    total_s = end.cpu_total_s - start.cpu_total_s
    return 100.0 * max(0.0, counted, used - ours - driver_cpu_s - kernel) / total_s


def _busy_s(snapshot: Snapshot) -> float:
    return snapshot.cpu_user_s + snapshot.cpu_sys_s - snapshot.cpu_irq_s


def _foreign_io(
    start: Snapshot, end: Snapshot, processes: ProcessUsage | None
) -> tuple[float | None, float | None]:
    """Return the bytes that others moved on the disks of data and logs, and their share in %."""
    disks = [(start.data, end.data), (start.log, end.log)]
    pairs = [(a, b) for a, b in disks if a is not None and b is not None]
    if not pairs or processes is None:
        return None, None
    read = sum(max(0, b.read_bytes - a.read_bytes) for a, b in pairs)
    written = sum(max(0, b.write_bytes - a.write_bytes) for a, b in pairs)
    own_written = processes.own_write_bytes
    if processes.sees_io:
        # mysqld's buffered writes reach the disk later, and the journal's belong to no
        # process: what no foreign process moved is not foreign.
        unexplained = max(0, read + written - processes.own_read_bytes - own_written)
        foreign = min(unexplained, sum(n.io_bytes for n in processes.foreign))
    else:
        foreign = max(0, read - processes.own_read_bytes)
        foreign += max(0, round(written - (1 + _JOURNAL) * own_written))
    if not foreign:
        return 0.0, 0.0
    busy = max(_busy_share(a, b, end.t - start.t) for a, b in pairs)
    return float(foreign), 100.0 * busy * foreign / (read + written)


def _busy_share(start: DiskCounters, end: DiskCounters, elapsed: float) -> float:
    """0..1; 1 where the kernel does not count it, as for md before Linux 5.10."""
    busy = rate(start.busy_s, end.busy_s, elapsed)
    return min(1.0, busy) if busy else 1.0


def _throttled_s(start: Snapshot, end: Snapshot) -> float | None:
    """Return the time of the CPU that was throttled longest between the snapshots."""
    before = start.host.throttled_s if start.host else None
    after = end.host.throttled_s if end.host else None
    if before is None or after is None:
        return None
    return max((after[cpu] - before[cpu] for cpu in before.keys() & after.keys()), default=0.0)


def _most(named: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Return the top three, without programs below 0.1."""
    found = sorted(named, key=lambda pair: -pair[1])[:3]
    return tuple(pair for pair in found if pair[1] >= 0.1)
