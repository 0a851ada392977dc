"""The result of a probe, and its JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from benchmarks.documents import Document
from benchmarks.probe.jobs import Job, Pattern, Purpose
from benchmarks.storage.identity import DeviceIdentity


@dataclass(frozen=True)
class Latency:
    """Microseconds, over all requests of a job."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True)
class LatencySplit:
    """Where one request spends its time, mean microseconds; compare SYSTOR 2015, Figures 3 and 5.

    `user_us`: CPU time of the program itself, fio's, per request. `kernel_us`: system calls, file
    system and whatever else of the latency is not below. `queue_us`: in the block layer, from
    the request's allocation to its dispatch to the driver; None where the source cannot separate
    it from the device. `device_us`: driver and device. `source` is "counters" (/sys/block/*/stat,
    which count from allocation to completion) or "tracepoints" (dispatch to completion).
    The paper calls fio's submission latency user time; it is in `kernel_us` here.
    """

    user_us: float
    kernel_us: float
    queue_us: float | None
    device_us: float
    source: str


@dataclass(frozen=True)
class JobResult:
    """One job's figures. MB are 10^6 bytes.

    `seconds` were measured, `requests` counted in them. `latency` runs from submission to
    completion of a request. `flush` is the time of one fsync or fdatasync, None for jobs without.
    CPU is fio's own, in percent of one CPU. Where `split` is None `split_missing` says why.
    """

    job: Job
    engine: str
    seconds: float
    requests: int
    iops: float
    mb_s: float
    latency: Latency
    flush: Latency | None
    user_cpu_pct: float
    system_cpu_pct: float
    split: LatencySplit | None = None
    split_missing: str = ""


@dataclass(frozen=True)
class ProbeResult(Document):
    """One probe of one device. `date` is aware. `direct_missing` says why direct I/O was not used,
    `tracing_missing` why the kernel's tracepoints were not; "" where they were. `file_bytes` is
    the part of the file that was written and used. `notes` are sentences for people. `emulated`
    names the limits that fio ran under; "" for the device as it is.
    """

    date: datetime
    seconds: float
    fio_version: str
    engine: str
    device: DeviceIdentity
    file_bytes: int
    direct_missing: str
    tracing_missing: str
    jobs: tuple[JobResult, ...]
    notes: tuple[str, ...] = ()
    emulated: str = ""

    @property
    def direct(self) -> bool:
        return not self.direct_missing

    def by_depth(self, pattern: Pattern, *, direct: bool | None = None) -> list[JobResult]:
        """The jobs of one pattern under load, shallow queue first: a chart's points.

        `direct` defaults to what the probe as a whole could use.
        """
        wanted = self.direct if direct is None else direct
        found = [
            result
            for result in self.jobs
            if result.job.purpose is Purpose.LOAD
            and result.job.pattern is pattern
            and result.job.direct is wanted
        ]
        return sorted(found, key=lambda result: result.job.queue_depth)

    def best(self, pattern: Pattern) -> float | None:
        """The most at any depth in the pattern's unit, direct where that was possible."""
        jobs = self.by_depth(pattern)
        return max((one.iops if pattern.is_random else one.mb_s for one in jobs), default=None)

    def low_load(self, pattern: Pattern) -> JobResult | None:
        """Single requests on the idle device."""
        return self._first(lambda job: job.purpose is Purpose.LOW_LOAD and job.pattern is pattern)

    def commit(self, sync: str = "fsync") -> JobResult | None:
        """A small write with its flush, the price of a durable commit; its `flush` decides."""
        return self._first(lambda job: job.purpose is Purpose.COMMIT and job.sync == sync)

    def _first(self, wanted: Callable[[Job], bool]) -> JobResult | None:
        return next((result for result in self.jobs if wanted(result.job)), None)
