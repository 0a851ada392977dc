"""Snapshots into seconds: true rates, gaps that stay gaps, the driver's counts beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.telemetry.series import Second, build_series, merged
from benchmarks.telemetry.snapshot import DiskCounters, Snapshot
from benchmarks.telemetry.usage import usage_between


def at(t: float) -> Snapshot:
    """A host of 2 CPUs, 1 busy in user mode; 100 writes of 10 kB each second."""
    writes = round(100 * t)
    return Snapshot(
        t=t,
        cpu_user_s=t,
        cpu_sys_s=0.0,
        cpu_iowait_s=0.0,
        cpu_steal_s=0.0,
        cpu_total_s=2 * t,
        server_cpu_s=0.5 * t,
        server_rss_bytes=int(1000 * t),
        data=DiskCounters(0, writes, 0, writes * 10_000),
    )


def series_of(times: list[float], origin: float) -> list[Second]:
    return build_series([at(t) for t in times], origin)


def test_seconds_count_from_the_origin_and_warm_up_is_negative() -> None:
    series = series_of([8.0, 9.0, 10.0, 11.0, 12.0], origin=10.0)
    assert [entry.second for entry in series] == [-2, -1, 0, 1]
    assert [entry.server_rss_bytes for entry in series] == [9000, 10000, 11000, 12000]


def test_each_rate_divides_by_the_time_that_really_passed() -> None:
    # the tick of second 11 came 0.3 s late: 1.3 s, then 0.7 s
    late, short = series_of([10.0, 11.3, 12.0], origin=10.0)
    assert late.elapsed_s == pytest.approx(1.3)
    assert short.elapsed_s == pytest.approx(0.7)
    for entry in (late, short):
        assert entry.usage is not None
        assert entry.usage.data_write_iops == pytest.approx(100.0)
        assert entry.usage.data_write_mb_s == pytest.approx(1.0)
        assert entry.usage.cpu_user_pct == pytest.approx(50.0)
        assert entry.usage.server_cores == pytest.approx(0.5)


def test_missed_ticks_are_a_gap_and_not_smeared() -> None:
    series = series_of([10.0, 11.0, 14.0, 15.0], origin=10.0)
    assert [entry.second for entry in series] == [0, 1, 2, 3, 4]
    assert [entry.usage is None for entry in series] == [False, True, True, True, False]
    assert series[2] == Second(2)


def test_a_mark_between_two_ticks_leaves_no_sliver_of_a_second() -> None:
    # the grid of the warm-up ended 3 ms before the mark at 10.0
    series = series_of([7.997, 8.997, 9.997, 10.0, 11.0], origin=10.0)
    assert [entry.second for entry in series] == [-2, -1, 0]
    assert series[1].elapsed_s == pytest.approx(1.003)


def test_too_few_snapshots_make_no_series() -> None:
    assert build_series([], 0.0) == []
    assert series_of([10.0], origin=10.0) == []


def test_counts_stand_beside_their_second_also_where_telemetry_missed_it() -> None:
    seen = merged(series_of([9.0, 10.0, 11.0], origin=10.0), commits=[319, 320], p95_ms=[None])
    assert [(one.second, one.commits, one.p95_ms) for one in seen] == [
        (-1, None, None),
        (0, 319, None),
        (1, 320, None),
    ]
    assert [one.usage is None for one in seen] == [False, False, True]
    assert seen[1].as_row()["commits"] == 319


def test_a_row_has_the_same_names_with_and_without_a_sample() -> None:
    (seen,) = series_of([10.0, 11.0], origin=10.0)
    row = replace(seen, completed=4).as_row()
    assert row["second"] == 0
    assert row["completed"] == 4
    assert row["cpu_user_pct"] == pytest.approx(50.0)
    assert row["log_write_iops"] is None
    gap = Second(3).as_row()
    assert gap.keys() == row.keys()
    assert {name for name, value in gap.items() if value is not None} == {"second"}


def test_a_counter_that_starts_anew_gives_no_rate() -> None:
    broken = replace(at(11.0), data=DiskCounters(0, 5, 0, 50))  # the disk was plugged in again
    usage = usage_between(at(10.0), broken)
    assert usage.data_write_iops is None
    assert usage.data_write_mb_s is None


def test_iowait_that_runs_backwards_is_no_negative_share() -> None:
    before = replace(at(10.0), cpu_iowait_s=3.0)
    after = replace(at(11.0), cpu_iowait_s=2.9)
    assert usage_between(before, after).cpu_iowait_pct == 0.0


def test_no_time_between_two_snapshots_is_a_bug_not_a_rate() -> None:
    with pytest.raises(ValueError, match="no time"):
        usage_between(at(10.0), at(10.0))
