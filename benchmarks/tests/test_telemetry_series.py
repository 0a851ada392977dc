"""Snapshots into seconds: true rates, gaps that stay gaps, the driver's counts beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.telemetry.snapshot import DiskCounters, Snapshot
from benchmarks.telemetry.usage import SAMPLE_COLUMNS, SampleRow, sample_rows, usage_between


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


def rows_of(*times: float, **per_second: list[Any]) -> list[SampleRow]:
    return sample_rows([at(t) for t in times], 10.0, per_second)


def column(rows: list[SampleRow], name: str) -> list[float | int | None]:
    return [row[name] for row in rows]


def test_seconds_count_from_the_origin_and_warm_up_is_negative() -> None:
    rows = rows_of(8.0, 9.0, 10.0, 11.0, 12.0)
    assert column(rows, "second") == [-2, -1, 0, 1]
    assert column(rows, "server_rss_bytes") == [9000, 10000, 11000, 12000]


def test_each_rate_divides_by_the_time_that_really_passed() -> None:
    # the tick of second 11 came 0.3 s late: 1.3 s, then 0.7 s
    rows = rows_of(10.0, 11.3, 12.0)
    assert column(rows, "elapsed_s") == pytest.approx([1.3, 0.7])
    for row in rows:
        figures = "data_write_iops", "data_write_mb_s", "cpu_user_pct", "server_cores"
        assert [row[name] for name in figures] == pytest.approx([100.0, 1.0, 50.0, 0.5])


def test_missed_ticks_are_a_gap_and_not_smeared() -> None:
    rows = rows_of(10.0, 11.0, 14.0, 15.0)
    assert column(rows, "second") == [0, 1, 2, 3, 4]
    assert [row["cpu_user_pct"] is None for row in rows] == [False, True, True, True, False]
    assert {name for name, value in rows[2].items() if value is not None} == {"second"}
    assert rows[2].keys() == rows[0].keys() == set(SAMPLE_COLUMNS)


def test_a_mark_between_two_ticks_leaves_no_sliver_of_a_second() -> None:
    # the grid of the warm-up ended 3 ms before the mark at 10.0
    rows = rows_of(7.997, 8.997, 9.997, 10.0, 11.0)
    assert column(rows, "second") == [-2, -1, 0]
    assert rows[1]["elapsed_s"] == pytest.approx(1.003)


@pytest.mark.parametrize("times", [(), (10.0,)])
def test_too_few_snapshots_make_no_series(times: tuple[float, ...]) -> None:
    assert rows_of(*times) == []


def test_counts_stand_beside_their_second_also_where_telemetry_missed_it() -> None:
    rows = rows_of(9.0, 10.0, 11.0, commits=[319, 320], p95_ms=[None])
    assert column(rows, "second") == [-1, 0, 1]
    assert column(rows, "commits") == [None, 319, 320]
    assert column(rows, "p95_ms") == [None, None, None]
    assert [row["cpu_user_pct"] is None for row in rows] == [False, False, True]


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
