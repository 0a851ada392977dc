"""Splits the time of a request: program, kernel, device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.host.files import read_text
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import JobResult, LatencySplit

#: Fewer milliseconds than this in a counter of whole milliseconds are too coarse to divide.
_MIN_TICKS = 10
#: The disk may count this much more or less than fio did before the two are not the same thing:
#: requests of others, or several of ours merged into one.
_TOLERANCE = 0.2


@dataclass(frozen=True)
class Counters:
    """One direction of a disk's traffic since boot: requests, and the time they took in ms.

    The time runs from the allocation of a request to its completion, says the kernel's
    Documentation/admin-guide/iostats.rst.
    """

    requests: int
    ticks_ms: int


def read_counters(
    block_device: str | None, pattern: Pattern, sys: Path = Path("/sys")
) -> Counters | None:
    """The disk's counters for reads or writes; None without a device or where it has none."""
    if block_device is None:
        return None
    name = block_device.replace("/", "!")
    fields = read_text(sys / "class/block" / name / "stat").split()
    first = 0 if pattern.reads else 4
    if len(fields) < first + 4:
        return None
    return Counters(int(fields[first]), int(fields[first + 3]))


def split_latency(
    result: JobResult,
    before: Counters | None,
    after: Counters | None,
    *,
    dispatched_us: float | None = None,
    user_us: float | None = None,
) -> LatencySplit | str:
    """The parts of the job's mean latency, or the reason why they are unknown.

    `before` and `after` are of the same disk around the job. `dispatched_us` is the mean time
    from dispatch to completion as the tracepoints saw it; it wins over the counters. `user_us`
    is what a request costs fio in a job without pacing: keeping a slow pace takes CPU time that
    no request waits for.
    """
    user_us = user_us_per_request(result) if user_us is None else user_us
    if not result.job.direct:
        return "Buffered requests mostly end in the page cache."
    in_block_layer = _time_in_block_layer(result, before, after)
    if dispatched_us is not None:
        queue = (
            max(0.0, in_block_layer - dispatched_us) if isinstance(in_block_layer, float) else None
        )
        return _parts(result, user_us, queue, dispatched_us, "tracepoints")
    if isinstance(in_block_layer, str):
        return in_block_layer
    return _parts(result, user_us, None, in_block_layer, "counters")


def user_us_per_request(result: JobResult) -> float:
    """fio's own CPU time in user mode per request. With threads each has its own clock."""
    threads = result.job.queue_depth if result.engine == "psync" else 1
    return result.user_cpu_pct / 100 * result.seconds * threads * 1e6 / result.requests


def _parts(
    result: JobResult, user_us: float, queue_us: float | None, device_us: float, source: str
) -> LatencySplit:
    return LatencySplit(
        user_us=user_us,
        kernel_us=max(0.0, result.latency.mean - (queue_us or 0.0) - device_us),
        queue_us=queue_us,
        device_us=device_us,
        source=source,
    )


def _time_in_block_layer(
    result: JobResult, before: Counters | None, after: Counters | None
) -> float | str:
    """Mean microseconds from allocation to completion of a request, or why it is not known."""
    if before is None or after is None:
        return "There is no block device whose counters could be read."
    requests = after.requests - before.requests
    ticks_ms = after.ticks_ms - before.ticks_ms
    if abs(requests - result.requests) > _TOLERANCE * result.requests:
        return (
            f"The disk counted {requests} requests, but fio made {result.requests}: they were "
            "merged or split, or others used the disk."
        )
    if ticks_ms < _MIN_TICKS:
        return f"{ticks_ms} ms in all are too few for the disk's counters of whole milliseconds."
    return ticks_ms * 1000 / requests
