"""Splits the time of a request into program, kernel, queue and device.

The device's part comes from the disk's counters or from the block layer's tracepoints, which
SYSTOR 2015 measured with. See the kernel's Documentation/trace/events.rst and ftrace.rst
(instances).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.host.files import read_text
from benchmarks.probe.jobs import Job, Pattern, Purpose
from benchmarks.probe.result import JobResult, LatencySplit

#: Fewer milliseconds than this in a counter of whole milliseconds are too coarse to divide.
_MIN_TICKS = 10
#: The disk may count this much more or less than fio did before the two are not the same thing:
#: requests of others, or several of ours merged into one.
_TOLERANCE = 0.2


class Counters(NamedTuple):
    """One direction of a disk's traffic since boot: requests, and the time they took in ms.

    The time runs from the allocation of a request to its completion, says the kernel's
    Documentation/admin-guide/iostats.rst.
    """

    requests: int
    ticks_ms: int


def read_counters(block_device: str | None, pattern: Pattern) -> Counters | None:
    """Return the disk's counters for reads or writes; None where it has none."""
    disk = psutil.disk_io_counters(perdisk=True, nowrap=False).get(block_device or "")
    if disk is None:
        return None
    if pattern.reads:
        return Counters(disk.read_count, disk.read_time)
    return Counters(disk.write_count, disk.write_time)


@dataclass(frozen=True)
class Splitter:
    """Measures the jobs of one probe on a disk, and splits their latency.

    `tracing` says why there is no tracer.
    """

    block_device: str | None
    tracing: Tracer | str
    _unpaced_us: dict[Pattern, float] = field(default_factory=dict)

    def measure(self, job: Job, run: Callable[[], JobResult]) -> JobResult:
        """Run one job, and find out where its requests spent their time."""
        is_idle = job.purpose is Purpose.LOW_LOAD
        tracing = self.tracing if is_idle and isinstance(self.tracing, Tracer) else None
        before = read_counters(self.block_device, job.pattern)
        with tracing.on() if tracing else nullcontext():
            result = run()
        after = read_counters(self.block_device, job.pattern)
        program_us = user_us(result)
        if job.purpose is Purpose.LOAD:
            self._unpaced_us.setdefault(job.pattern, program_us)  # at depth 1, which is first
        elif job.rate_iops:  # to keep a slow pace takes CPU time that no request waits for
            program_us = self._unpaced_us.get(job.pattern, program_us)
        dispatched_us = tracing.dispatch_to_completion_us(job) if tracing else None
        split = split_latency(result, before, after, program_us, dispatched_us)
        if isinstance(split, str):
            return replace(result, split_missing=split)
        return replace(result, split=split)


def split_latency(
    result: JobResult,
    before: Counters | None,
    after: Counters | None,
    program_us: float,
    dispatched_us: float | None = None,
) -> LatencySplit | str:
    """Return the parts of the job's mean latency, or the reason why they are unknown.

    `before` and `after` are of the same disk around the job. `program_us` is what a request costs
    fio. `dispatched_us` is the mean time from dispatch to completion as the tracepoints saw it; it
    wins over the counters.
    """
    if not result.job.direct:
        return "Buffered requests mostly end in the page cache."
    device, queue, source = dispatched_us, None, "tracepoints"
    in_block_layer = _time_in_block_layer(result, before, after)
    if device is None:
        if isinstance(in_block_layer, str):
            return in_block_layer
        device, source = in_block_layer, "counters"
    elif isinstance(in_block_layer, float):
        queue = max(0.0, in_block_layer - device)
    kernel = max(0.0, result.latency.mean - (queue or 0.0) - device)
    return LatencySplit(program_us, kernel, queue, device, source)


def user_us(result: JobResult) -> float:
    """Return fio's CPU time in user mode per request. With threads each has its own clock."""
    threads = result.job.queue_depth if result.engine == "psync" else 1
    return result.user_cpu_pct / 100 * result.seconds * threads * 1e6 / result.requests


def _time_in_block_layer(
    result: JobResult, before: Counters | None, after: Counters | None
) -> float | str:
    """Return a request's mean microseconds from allocation to completion, or why not known."""
    if before is None or after is None:
        return "There is no block device whose counters could be read."
    requests, ticks_ms = after.requests - before.requests, after.ticks_ms - before.ticks_ms
    if abs(requests - result.requests) > _TOLERANCE * result.requests:
        return (
            f"The disk counted {requests} requests, but fio made {result.requests}: they were "
            "merged or split, or others used the disk."
        )
    if ticks_ms < _MIN_TICKS:
        return f"{ticks_ms} ms in all are too few for the disk's counters of whole milliseconds."
    return ticks_ms * 1000 / requests


#: Where trace buffers are made; the second is where older kernels have tracefs.
_INSTANCES = (
    Path("/sys/kernel/tracing/instances"),
    Path("/sys/kernel/debug/tracing/instances"),
)
_EVENTS = ("block_rq_issue", "block_rq_complete")
_PREFIX = "oltp-advisor-"
_LINE = re.compile(
    r"(?P<t>\d+\.\d+): block_rq_(?P<event>issue|complete): (?P<device>\d+,\d+) (?P<flags>\w+)"
    r" (?:\d+ )?\(.*?\) (?P<sector>\d+) \+ (?P<sectors>\d+)"
)


_UNTRACEABLE = (
    "the kernel's block tracepoints (those of blktrace and bpftrace) cannot be read: that takes a "
    "block device, root, and tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
)


@dataclass(frozen=True)
class Tracer:
    """A trace buffer of our own beside whatever else is traced on this host.

    `device` is "major:minor".
    """

    buffer: Path
    device: str

    def set(self, control: str, value: str) -> None:
        """Write into a control file of both events."""
        for event in _EVENTS:
            (self.buffer / "events/block" / event / control).write_text(value)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Trace the device inside the block, from an empty buffer."""
        (self.buffer / "trace").write_text("")
        self.set("enable", "1")
        try:
            yield
        finally:
            self.set("enable", "0")

    def dispatch_to_completion_us(self, job: Job) -> float | None:
        """Return the mean time of the job's requests in driver and device; None: none seen."""
        times = dispatch_times((self.buffer / "trace").read_text(), self.device, job)
        return sum(times) / len(times) if times else None


@contextlib.contextmanager
def tracer(block_device: str | None) -> Iterator[Tracer | str]:
    """Make a tracer for one disk, or give the reason why there can be none."""
    device = read_text(Path("/sys/class/block") / (block_device or "").replace("/", "!") / "dev")
    major, _, minor = device.partition(":")
    with contextlib.ExitStack() as stack:
        ready: Tracer | str = _UNTRACEABLE
        with contextlib.suppress(OSError, StopIteration, ValueError):
            kernel_number = (int(major) << 20) | int(minor)
            instances = next(place for place in _INSTANCES if place.is_dir())
            _remove_buffers(instances)
            made = Tracer(instances / f"{_PREFIX}{os.getpid()}", device)
            made.buffer.mkdir()
            stack.callback(_remove_buffers, instances)
            made.set("filter", f"dev == {kernel_number}")
            ready = made
        yield ready


def _remove_buffers(instances: Path) -> None:
    """Remove our buffer and those of killed probes: a host runs one probe at a time."""
    for buffer in instances.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # in use after all
            buffer.rmdir()


def dispatch_times(trace: str, device: str, job: Job) -> list[float]:
    """Return the microseconds from dispatch to completion of each request of the job's kind.

    `trace` is the text of a trace file, `device` "major:minor". Requests of another size or
    direction, and read-ahead, are someone else's.
    """
    sectors, direction = str(job.block_bytes // 512), "R" if job.pattern.reads else "W"
    dispatched: dict[str, float] = {}
    times = []
    for line in _LINE.finditer(trace):
        if line["device"] != device.replace(":", ",") or line["sectors"] != sectors:
            continue
        if not line["flags"].startswith(direction) or "A" in line["flags"]:
            continue
        if line["event"] == "issue":
            dispatched[line["sector"]] = float(line["t"])
        elif (start := dispatched.pop(line["sector"], None)) is not None:
            times.append((float(line["t"]) - start) * 1e6)
    return times
