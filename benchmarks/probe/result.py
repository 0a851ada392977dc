"""The result of a probe, its JSON, and the values to test that follow from it."""

from __future__ import annotations

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
        """Return the jobs of one pattern under load, shallow queue first: a chart's points.

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
        """Return the most at any depth in the pattern's unit, direct where that was possible."""
        jobs = self.by_depth(pattern)
        return max((one.iops if pattern.is_random else one.mb_s for one in jobs), default=None)

    def low_load(self, pattern: Pattern) -> JobResult | None:
        """Return single requests on the idle device."""
        jobs = (r for r in self.jobs if r.job.purpose is Purpose.LOW_LOAD)
        return next((result for result in jobs if result.job.pattern is pattern), None)

    def commit(self, sync: str = "fsync") -> JobResult | None:
        """Return a small write with its flush, the price of a durable commit: `flush` decides."""
        jobs = (r for r in self.jobs if r.job.purpose is Purpose.COMMIT)
        return next((result for result in jobs if result.job.sync == sync), None)


#: innodb_io_capacity's own lower limit.
_MIN_LOW = 100
#: MySQL's default up to 8.0: no device is so slow that a lower value would be worth trying.
_MIN_HIGH = 200


def suggested_io_capacity(result: ProbeResult) -> tuple[int, int]:
    """Return the lowest and the highest innodb_io_capacity worth testing on the probed device.

    innodb_io_capacity is how many pages per second InnoDB means to flush in the background. The
    probe's random 16 KB writes per second, W (the best over all queue depths, direct where that
    works, else flushed), are pages too.

    high: W / 2. With the doublewrite buffer on, as D0 asks, each flushed page is written twice,
        and a flush rate that takes the whole device leaves nothing for reads and the log.
    low: W / 40. The published optimum lies inside: 15000 on an NVMe rated at 120000 random writes
        per second (of 4 KB), where more hurt throughput (whitepaper, Figure 11 and Table 4).

    Bounds: never below 100, the variable's minimum, and never high below 200, its old default.
    Both are rounded to 1, 1.5, 2, 3, 5 or 7 times a power of ten. They are ends of a sweep, not
    advice: the sweep decides.
    Raises ValueError for a result without random writes.
    """
    writes = result.best(Pattern.RANDOM_WRITE)
    if not writes:
        raise ValueError("the probe has no random writes")
    high = max(_MIN_HIGH, _round(writes / 2))
    low = min(max(_MIN_LOW, _round(writes / 40)), high // 2)
    return low, high


def _round(value: float) -> int:
    """Return the nearest of 1, 1.5, 2, 3, 5, 7 times a power of ten."""
    power = 1
    while value >= 10 * power:
        power *= 10
    steps = [round(step * power) for step in (1, 1.5, 2, 3, 5, 7, 10)]
    return min(steps, key=lambda step: abs(step - value))
