"""The result of a driven run: figures, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.drivers.protocol import DriverResult, LoadSide
from benchmarks.drivers.response_times import LatencyHistogram
from benchmarks.measurement.drive import Driven
from benchmarks.measurement.early_stop import Cut
from benchmarks.measurement.metrics import Metrics, compute_metrics, mean_cpu_hz
from benchmarks.outcomes import Outcome
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
from benchmarks.telemetry.trend import find_trend
from benchmarks.telemetry.usage import SampleRow
from benchmarks.telemetry.write_debt import WriteDebt

# The kernel counts CPU time in hundredths of a second: shares of shorter times are meaningless.
_MIN_S = 0.5


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
        metrics=compute_metrics(result, start, end, cpu_hz=cpu_hz, logical_cpus=logical_cpus()),
        latency=result.times.histogram(),
        redo_mb_s=driven.write_debt.redo_mb_s,
        trend_pct=trend.pct if trend else None,
        still_warming=trend is not None and not trend.is_steady,
    )


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
        times=sampler.times(),
        period_s=sampler.period_s,
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
