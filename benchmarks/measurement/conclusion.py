"""From a driven run to its result: figures, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.drivers.protocol import DriverResult
from benchmarks.measurement.drive import Driven
from benchmarks.measurement.early_stop import Cut
from benchmarks.measurement.metrics import compute_metrics, mean_cpu_hz
from benchmarks.measurement.result import Measurement, SampleRow
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.conditions import conditions_between
from benchmarks.telemetry.cpu import logical_cpus
from benchmarks.telemetry.disturbance import (
    Disturbance,
    Limits,
    conditions_document,
    find_disturbances,
    load_host_troubles,
    reason,
    wrong_interval,
)
from benchmarks.telemetry.sampler import Sampler
from benchmarks.telemetry.series import merged
from benchmarks.telemetry.trend import find_trend

# The kernel counts CPU time in hundredths of a second: shares of shorter times are meaningless.
_MIN_S = 0.5


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
    return replace(
        seen,
        metrics=compute_metrics(
            result, start, end, cpu_hz=mean_cpu_hz(start, end), logical_cpus=logical_cpus()
        ),
        latency=result.times.histogram(),
        redo_mb_s=driven.redo_mb_s,
        trend_pct=trend.pct if trend else None,
        still_warming=trend is not None and not trend.is_steady,
    )


def weigh_conditions(
    limits: Limits, sampler: Sampler, driven: Driven
) -> tuple[dict[str, object], list[Disturbance]]:
    """The conditions on the host during the run, as a document, and every exceeded limit."""
    disturbances = []
    start, end = driven.start, driven.end
    seconds = end.t - start.t
    if isinstance(driven.end_of, DriverResult):
        wrong = wrong_interval(driven.end_of.measured_seconds, seconds)
        disturbances += [wrong] if wrong else []
    if driven.load_side is not None:
        disturbances += load_host_troubles(driven.load_side, limits, seconds)
    if seconds < _MIN_S:
        return {}, disturbances
    conditions = conditions_between(
        start,
        end,
        times=sampler.times(),
        period_s=sampler.period_s,
        processes=sampler.process_usage(),
        driver_cpu_s=driven.driver_cpu_s,
    )
    disturbances += find_disturbances(conditions, limits)
    return conditions_document(conditions, limits), disturbances


def samples_of(sampler: Sampler, driven: Driven) -> list[SampleRow]:
    """The run second by second: telemetry, commits, and the driver's counts."""
    counts: dict[str, Sequence[Any]] = {"commits": driven.commits_per_second}
    if isinstance(driven.end_of, DriverResult):
        times = driven.end_of.times
        counts |= {"completed": times.per_second(), "p95_ms": times.p95_per_second()}
    return [second.as_row() for second in merged(sampler.series(), **counts)]
