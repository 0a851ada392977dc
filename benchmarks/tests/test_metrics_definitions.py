"""Each figure against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.drivers.protocol import DriverResult, TransactionCounts
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.errors import RunFailed
from benchmarks.measurement.result import BytesSource, Metrics, compute_metrics, mean_cpu_hz
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.snapshot import DiskCounters, Snapshot

# A host with 4 CPUs; the counters stand where they stand when the interval begins.
START = Snapshot(
    t=1000.0,
    cpu_user_s=500.0,
    cpu_sys_s=200.0,
    cpu_iowait_s=50.0,
    cpu_steal_s=5.0,
    cpu_total_s=4000.0,
    server_cpu_s=300.0,
    server_write_bytes=7_000_000,
    server_rss_bytes=1_000_000,
    data=DiskCounters(10_000, 20_000, 30_000_000, 40_000_000),
    log=DiskCounters(1_000, 2_000, 3_000_000, 4_000_000),
    device_write_bytes=44_000_000,
)
# 10 s later: 40 CPU seconds in all, of them 12 user, 4 sys, 2 iowait, 1 steal; 9 of mysqld's.
END = Snapshot(
    t=1010.0,
    cpu_user_s=512.0,
    cpu_sys_s=204.0,
    cpu_iowait_s=52.0,
    cpu_steal_s=6.0,
    cpu_total_s=4040.0,
    server_cpu_s=309.0,
    server_write_bytes=9_000_000,
    server_rss_bytes=2_000_000,
    data=DiskCounters(10_500, 21_000, 33_000_000, 48_000_000),
    log=DiskCounters(1_010, 3_000, 3_500_000, 5_000_000),
    device_write_bytes=53_000_000,
)


def driver_result(new_order_ms: list[float], measured_seconds: float = 10.0) -> DriverResult:
    times = ResponseTimes(1)
    times.add(np.array(new_order_ms), np.zeros(len(new_order_ms), dtype=int))
    return DriverResult(
        measured_seconds=measured_seconds,
        times=times,
        counts={
            "new_order": TransactionCounts(len(new_order_ms), 3, 1),
            "payment": TransactionCounts(700, 2, 4),
        },
        driver_cpu_seconds=1.0,
        output="",
    )


def compute(
    completed: int = 1000,
    *,
    measured_seconds: float = 10.0,
    start: Snapshot = START,
    end: Snapshot = END,
    cpu_hz: float | None = 2.5e9,
) -> Metrics:
    result = driver_result([5.0] * completed, measured_seconds)
    return compute_metrics(result, start, end, cpu_hz=cpu_hz, cpus=4)


def test_tpmp_is_new_orders_per_minute_of_the_measured_interval() -> None:
    assert compute(1000, measured_seconds=10.0).throughput == 6000.0
    assert compute(1001, measured_seconds=10.5).throughput == pytest.approx(5720.0)


def test_percentiles_are_nearest_rank_over_all_response_times() -> None:
    # 200 times in no order: the 190th, 198th and last of them
    times = [float(1 + (i * 77) % 200) for i in range(200)]
    metrics = compute_metrics(driver_result(times), START, END, cpu_hz=None, cpus=4)
    assert (metrics.p95_ms, metrics.p99_ms) == pytest.approx((190.0, 198.0), rel=1e-4)
    assert metrics.max_ms == 200.0


def paper_path_length(utilisation_pct: float, tpmp: float) -> float:
    """Tables 1, 2 and 10: 112 processors at 2.2 GHz, at 100 connections, for a minute."""
    total = 112 * 60.0
    start = Snapshot(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    busy = total * utilisation_pct / 100
    end = Snapshot(60.0, busy * 0.75, busy * 0.25, 0.0, 0.0, total)
    # scaled up by 100 to whole New-Orders
    result = driver_result([1.0] * round(tpmp), measured_seconds=60.0)
    length = compute_metrics(result, start, end, cpu_hz=2.2e9, cpus=112).host_path_length
    assert length is not None
    return length


def test_the_papers_nvme_result_gives_the_papers_path_length() -> None:
    nvme = paper_path_length(32.1, 136_479)
    # 2.2e9 x 112 x 0.321 / (136479 / 60)
    assert nvme == pytest.approx(34_772_118, rel=1e-6)
    # "50 to 60% smaller than the equivalent HDD CPU PATHL" (section 4.4)
    assert 0.50 < 1 - nvme / paper_path_length(0.4, 757) < 0.60


BY_HAND = {
    # 2.5 GHz x 4 CPUs x (12 + 4) / 40 utilisation / 100 New-Orders a second: the paper's formula
    "host_path_length": 40_000_000.0,
    # 9 CPU seconds x 2.5 GHz / 1000 New-Orders: mysqld's cycles only
    "server_path_length": 22_500_000.0,
    # Shares are of the whole host.
    **{"cpu_user_pct": 30.0, "cpu_sys_pct": 10.0, "cpu_iowait_pct": 5.0, "cpu_steal_pct": 2.5},
    "server_cores": 0.9,
    **{"data_read_iops": 50.0, "data_write_iops": 100.0},
    **{"data_read_mb_s": 0.3, "data_write_mb_s": 0.8},
    **{"log_read_iops": 1.0, "log_write_iops": 100.0},
    **{"log_read_mb_s": 0.05, "log_write_mb_s": 0.1},
    "bytes_written_per_transaction": 9000.0,
    "driver_cpu_ms_per_transaction": 1.0,
    # Failures and retries are of all transactions.
    **{"completed": 1000, "failed": 5, "retried": 5},
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_figure_is_what_it_is_by_hand(name: str) -> None:
    assert getattr(compute(), name) == pytest.approx(BY_HAND[name])


def test_rates_divide_by_the_time_that_passed_between_the_snapshots() -> None:
    late = replace(END, t=1010.5, cpu_total_s=4042.0)
    metrics = compute(end=late)
    assert metrics.throughput == 6000.0
    assert metrics.data_write_iops == pytest.approx(1000 / 10.5)
    assert metrics.server_cores == pytest.approx(9 / 10.5)
    # 9 s of CPU in 10.5 s, at 100 New-Orders a second
    assert metrics.server_path_length == pytest.approx(9 / 10.5 * 2.5e9 / 100)
    assert metrics.bytes_written_per_transaction == pytest.approx(9_000_000 / 10.5 / 100)


@pytest.mark.parametrize(
    ("unknown", "bytes_written", "source"),
    [
        ({}, 9000.0, BytesSource.DEVICE),
        ({"device_write_bytes": None}, 2000.0, BytesSource.SERVER),
        ({"device_write_bytes": None, "server_write_bytes": None}, None, BytesSource.UNKNOWN),
    ],
)
def test_bytes_written_come_from_the_best_counter_there_is(
    unknown: dict[str, Any], bytes_written: float | None, source: BytesSource
) -> None:
    metrics = compute(start=replace(START, **unknown))
    assert metrics.bytes_written_per_transaction == pytest.approx(bytes_written)
    assert metrics.bytes_written_source is source


def test_path_lengths_are_unknown_without_their_counters() -> None:
    no_clock = compute(cpu_hz=None)
    assert (no_clock.server_path_length, no_clock.host_path_length) == (None, None)
    assert no_clock.cpu_user_pct == pytest.approx(30.0)
    no_server = compute(end=replace(END, server_cpu_s=None))
    assert no_server.server_path_length is None
    assert no_server.host_path_length is not None


def test_the_clock_rate_is_the_mean_of_both_ends() -> None:
    assert mean_cpu_hz(replace(START, cpu_hz=2e9), replace(END, cpu_hz=3e9)) == 2.5e9
    assert mean_cpu_hz(replace(START, cpu_hz=2e9), END) is None


@pytest.mark.parametrize(
    ("completed", "seconds", "outcome"),
    [
        (0, 10.0, Outcome.ZERO_WORK),
        (0, 0.0, Outcome.ZERO_WORK),
        (10, 0.0, Outcome.DRIVER_FAILED),
        (10, -3.0, Outcome.DRIVER_FAILED),
        (10, math.nan, Outcome.DRIVER_FAILED),
    ],
)
def test_without_work_or_time_there_is_no_number(
    completed: int, seconds: float, outcome: Outcome
) -> None:
    with pytest.raises(RunFailed) as failure:
        compute(completed, measured_seconds=seconds)
    assert failure.value.outcome is outcome


@pytest.mark.parametrize(("cpu_hz", "cpus"), [(0.0, 4), (-1.0, 4), (math.nan, 4), (2e9, 0)])
def test_a_processor_that_cannot_be_is_a_bug_not_a_number(cpu_hz: float, cpus: int) -> None:
    with pytest.raises(ValueError, match="not a processor"):
        compute_metrics(driver_result([1.0]), START, END, cpu_hz=cpu_hz, cpus=cpus)
