"""The figures of one run, as docs and UI name them. Each is defined here and nowhere else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from benchmarks.drivers.protocol import DriverResult
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.snapshot import Snapshot
from benchmarks.telemetry.usage import Usage, rate, usage_between


class BytesSource(StrEnum):
    """Which counter has the bytes written.

    DEVICE: the disks of data and logs, every write of the host with the file system's journal.
    SERVER: mysqld's own writes, as the kernel charges them to the process.
    """

    DEVICE = "device"
    SERVER = "server"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Metrics(Usage):
    """One run in numbers: the host's usage over the measured interval, and what follows of it.

    None means unknown, never zero. Every figure has a column of the same name in the run's row.

    throughput: transactions that count, completed per minute of the measured interval.
    p95_ms, p99_ms, max_ms: response time in ms; nearest-rank order statistics of all such
        transactions of the measured interval (numpy's "inverted_cdf"): the smallest response time
        that at least 95 (99) % of them did not exceed, to within 0.01 % or a microsecond; the
        longest is exact.
    server_path_length: CPU cycles (user + sys) of mysqld per transaction.
    host_path_length: CPU cycles (user + sys) of the whole host per transaction, the driver's and
        everybody else's included: the whitepaper's formula (section 4.4).
    cpu_hz: the clock rate both path lengths were computed with; without it both are None.
    driver_cpu_ms_per_transaction: CPU time of the driver, user and system.
    bytes_written_per_transaction: and in bytes_written_source, who counted.
    completed: in the measured interval. failed, retried: of every kind of transaction.
    measured_seconds: the driver's measured interval.
    """

    throughput: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    server_path_length: float | None
    host_path_length: float | None
    cpu_hz: float | None
    driver_cpu_ms_per_transaction: float
    bytes_written_per_transaction: float | None
    bytes_written_source: BytesSource
    completed: int
    failed: int
    retried: int
    measured_seconds: float


def compute_metrics(
    result: DriverResult,
    start: Snapshot,
    end: Snapshot,
    *,
    cpu_hz: float | None,
    logical_cpus: int,
) -> Metrics:
    """Compute a run's metrics from the driver's result and the snapshots around its interval.

    `cpu_hz` is the clock rate, None where unknown; `mean_cpu_hz(start, end)` serves. Telemetry and
    driver each divide by their own true seconds, so a few ms between them do no harm.

    Whether the snapshots are of the driver's interval is for `wrong_interval` to say. Raises
    RunFailed: ZERO_WORK when no transaction completed, DRIVER_FAILED when the interval has no
    length; ValueError for a clock rate or number of CPUs that is not positive.
    """
    if (cpu_hz is not None and not cpu_hz > 0) or logical_cpus < 1:
        raise ValueError(f"not a processor: {logical_cpus} CPUs at {cpu_hz} Hz")
    completed, seconds = result.times.count, result.measured_seconds
    if completed == 0:
        raise RunFailed(Outcome.ZERO_WORK, f"no transaction completed in {seconds:.0f} s")
    if not seconds > 0:
        said = f"the driver reports a measured interval of {seconds} s"
        raise RunFailed(Outcome.DRIVER_FAILED, said)
    usage = usage_between(start, end)
    per_second = completed / seconds
    utilisation = (usage.cpu_user_pct + usage.cpu_sys_pct) / 100.0
    server = None if cpu_hz is None or usage.server_cores is None else usage.server_cores * cpu_hz
    host = None if cpu_hz is None else cpu_hz * logical_cpus * utilisation
    written, source = _bytes_written_per_second(start, end)
    return Metrics(
        **asdict(usage),
        throughput=per_second * 60.0,
        p95_ms=result.times.percentile(95),
        p99_ms=result.times.percentile(99),
        max_ms=result.times.max_ms,
        server_path_length=None if server is None else server / per_second,
        host_path_length=None if host is None else host / per_second,
        cpu_hz=cpu_hz,
        driver_cpu_ms_per_transaction=result.driver_cpu_seconds * 1000 / completed,
        bytes_written_per_transaction=None if written is None else written / per_second,
        bytes_written_source=source,
        completed=completed,
        failed=sum(counts.failed for counts in result.counts.values()),
        retried=sum(counts.retried for counts in result.counts.values()),
        measured_seconds=seconds,
    )


def mean_cpu_hz(start: Snapshot, end: Snapshot) -> float | None:
    """Return the mean of the clock rates at both marks; None unless both are known."""
    if start.cpu_hz is None or end.cpu_hz is None:
        return None
    return (start.cpu_hz + end.cpu_hz) / 2


def _bytes_written_per_second(start: Snapshot, end: Snapshot) -> tuple[float | None, BytesSource]:
    elapsed = end.t - start.t
    by_device = rate(start.device_write_bytes, end.device_write_bytes, elapsed)
    if by_device is not None:
        return by_device, BytesSource.DEVICE
    by_server = rate(start.server_write_bytes, end.server_write_bytes, elapsed)
    return by_server, BytesSource.UNKNOWN if by_server is None else BytesSource.SERVER
