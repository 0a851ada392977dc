"""The result of a driven run: its figures, each defined here, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from benchmarks.drivers.protocol import DriverResult, LoadSide
from benchmarks.drivers.response_times import LatencyHistogram
from benchmarks.errors import RunFailed
from benchmarks.measurement.drive import Driven
from benchmarks.outcomes import Cut, Outcome
from benchmarks.telemetry.conditions import conditions_between
from benchmarks.telemetry.disturbance import (
    Disturbance,
    Limits,
    conditions_document,
    find_disturbances,
    load_host_troubles,
    reason,
    wrong_interval,
)
from benchmarks.telemetry.host import logical_cpus
from benchmarks.telemetry.sampler import Sampler
from benchmarks.telemetry.snapshot import Snapshot
from benchmarks.telemetry.trend import find_trend
from benchmarks.telemetry.usage import SampleRow, Usage, rate, usage_between
from benchmarks.telemetry.write_debt import WriteDebt

# The kernel counts CPU time in hundredths of a second: shares of shorter times are meaningless.
_MIN_S = 0.5


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


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A run that was driven, whether or not it has a figure that can be ranked.

    outcome: OK; DISTURBED, when other load on the host made the run void; CUT_SHORT, when its
        first seconds were too slow. `reason` says why it is not OK, `disturbances` every exceeded
        limit, `conditions` those on the host (`conditions_document`).
    samples: the seconds of the run. variables: the server's own as read back. step_seconds: the
        wall time of each step. log_tail: the end of the server's error log.
    load_side: the load host. write_debt: what the server put off.
    metrics, latency (how response times are spread), redo_mb_s (redo log written, 10^6 bytes per
        second), trend_pct (change of throughput over the measured interval, None if that is too
        short) and still_warming (the change is significant): only of a run that is OK.
    throughput_at_most: only of a run that was cut short.
    """

    outcome: Outcome = Outcome.OK
    reason: str = ""
    samples: Sequence[SampleRow]
    variables: dict[str, str]
    fingerprint: dict[str, str]
    comparability_key: str
    driver_version: str
    step_seconds: dict[str, float]
    conditions: dict[str, object] = field(default_factory=dict)
    disturbances: Sequence[Disturbance] = ()
    log_tail: str = ""
    write_debt: WriteDebt | None = None
    load_side: LoadSide | None = None
    metrics: Metrics | None = None
    latency: LatencyHistogram | None = None
    redo_mb_s: float | None = None
    trend_pct: float | None = None
    still_warming: bool = False
    throughput_at_most: float | None = None


def conclude(seen: Measurement, driven: Driven) -> Measurement:
    """Return what was seen with its figures, or with the reason why it has none.

    Raises RunFailed for a driver's result that is not a measurement (compute_metrics).
    """
    if seen.disturbances:
        # Also for a run that was cut short: the disturbance may be why it was too slow.
        return replace(seen, outcome=Outcome.DISTURBED, reason=reason(seen.disturbances))
    result, start, end = driven.end_of, driven.start, driven.end
    if isinstance(result, Cut):
        return replace(
            seen,
            outcome=Outcome.CUT_SHORT,
            reason=result.reason,
            throughput_at_most=result.throughput_at_most,
        )
    trend = find_trend(result.times.per_second())
    cpu_hz = mean_cpu_hz(start, end)
    return replace(
        seen,
        metrics=compute_metrics(result, start, end, cpu_hz=cpu_hz, cpus=logical_cpus()),
        latency=result.times.histogram(),
        redo_mb_s=driven.write_debt.redo_mb_s,
        trend_pct=trend.pct if trend else None,
        still_warming=trend is not None and not trend.is_steady,
    )


def compute_metrics(
    result: DriverResult,
    start: Snapshot,
    end: Snapshot,
    *,
    cpu_hz: float | None,
    cpus: int,
) -> Metrics:
    """Compute a run's metrics from the driver's result and the snapshots around its interval.

    `cpu_hz` is the clock rate, None where unknown; `mean_cpu_hz(start, end)` serves. Telemetry and
    driver each divide by their own true seconds, so a few ms between them do no harm.

    Whether the snapshots are of the driver's interval is for `wrong_interval` to say. Raises
    RunFailed: ZERO_WORK when no transaction completed, DRIVER_FAILED when the interval has no
    length; ValueError for a clock rate or number of CPUs that is not positive.
    """
    if (cpu_hz is not None and not cpu_hz > 0) or cpus < 1:
        raise ValueError(f"not a processor: {cpus} CPUs at {cpu_hz} Hz")
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
    host = None if cpu_hz is None else cpu_hz * cpus * utilisation
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


def weigh_conditions(
    limits: Limits, sampler: Sampler, driven: Driven
) -> tuple[dict[str, object], list[Disturbance]]:
    """Return the conditions on the host as a document, and every exceeded limit."""
    disturbances = []
    seconds = driven.end.t - driven.start.t
    if isinstance(driven.end_of, DriverResult):
        wrong = wrong_interval(driven.end_of.measured_seconds, seconds)
        disturbances += [wrong] if wrong else []
    if driven.load_side is not None:
        disturbances += load_host_troubles(driven.load_side, limits, seconds)
    if seconds < _MIN_S:
        return {}, disturbances
    conditions = conditions_between(
        driven.start,
        driven.end,
        stalled_s=sampler.stalled_s(measured=True),
        processes=sampler.process_usage(),
        driver_cpu_s=driven.driver_cpu_s,
    )
    disturbances += find_disturbances(conditions, limits)
    return conditions_document(conditions, limits), disturbances


def samples_of(sampler: Sampler, driven: Driven) -> list[SampleRow]:
    """Return the run second by second: telemetry, commits, and the driver's counts."""
    counts: dict[str, Sequence[Any]] = {"commits": driven.commits_per_second}
    if isinstance(driven.end_of, DriverResult):
        times = driven.end_of.times
        counts |= {"completed": times.per_second(), "p95_ms": times.p95_per_second()}
    return sampler.rows(**counts)
