"""The charts of a probe: what the series hold, in which unit, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from advisor.charts.probe import probe_figures
from advisor.tests.drawn import as_plotly
from advisor.tests.probes import probe_result
from benchmarks.probe.jobs import Pattern, Purpose
from benchmarks.probe.result import ProbeResult

MISSING = "tmpfs does not take O_DIRECT"


def charts_of(found: ProbeResult) -> dict[str, Any]:
    return {key: as_plotly(one) for key, one in probe_figures(found).items()}


def without(found: ProbeResult, *purposes: Purpose) -> ProbeResult:
    return replace(found, jobs=tuple(j for j in found.jobs if j.job.purpose not in purposes))


def test_iops_are_by_depth_direct_and_buffered() -> None:
    found = probe_result(reads=48_000, writes=120_000)
    lines = {line.name: line for line in charts_of(found)["iops"].data}
    assert list(lines) == [
        "Random read, direct",
        "Random write, direct",
        "Random read, buffered",
        "Random write, buffered",
    ]
    direct = lines["Random write, direct"]
    assert direct.x == (1, 4, 16, 64)
    assert list(direct.y) == [j.iops for j in found.by_depth(Pattern.RANDOM_WRITE)]
    assert direct.y[-1] == pytest.approx(120_000 * 64 / 68)
    assert lines["Random read, buffered"].x == (1, 16)
    assert [line.line.dash for line in lines.values()] == ["solid"] * 2 + ["dot"] * 2


def test_without_direct_io_there_is_one_buffered_set() -> None:
    found = probe_result(direct_missing=MISSING)
    figures = charts_of(found)
    names = [line.name for line in figures["iops"].data]
    assert names == ["Random read, buffered", "Random write, buffered"]
    assert figures["read-latency"].data[0].x == (1, 4, 16, 64)
    assert "split" not in figures


def test_latency_is_three_percentiles_in_microseconds() -> None:
    found = probe_result()
    figure = charts_of(found)["read-latency"]
    lines, axis = figure.data, figure.layout.yaxis
    assert [line.name for line in lines] == ["p50", "p95", "p99"]
    deepest = found.by_depth(Pattern.RANDOM_READ)[-1].latency
    assert [line.y[-1] for line in lines] == [deepest.p50, deepest.p95, deepest.p99]
    assert "µs" in axis.title.text
    assert axis.type == "log"


def test_the_split_shows_the_queue_only_where_tracepoints_were_read() -> None:
    figure = charts_of(probe_result())["split"]
    assert figure.data[0].y == (
        "Random read, low load",
        "Random read, depth 1",
        "Random write, low load",
        "Random write, depth 1",
    )
    names = [trace.name for trace in figure.data]
    assert names == ["user (the program)", "kernel", "device, incl. queue"]

    found = probe_result(tracing_missing="")
    traced = charts_of(found)["split"]
    assert [trace.name for trace in traced.data][2:] == ["queue (block layer)", "device"]
    assert traced.data[0].customdata[0] == "tracepoints"
    low = found.low_load(Pattern.RANDOM_READ)
    assert low is not None
    assert low.split is not None
    parts = (low.split.user_us, low.split.kernel_us, low.split.queue_us, low.split.device_us)
    assert [trace.x[0] for trace in traced.data] == [pytest.approx(part) for part in parts]
    queue = traced.data[2]
    assert queue.x[1] is None, "under load the queue was not traced"


def test_a_flush_counts_not_the_write_before_it() -> None:
    bars = charts_of(probe_result(flush_us=10_000))["commit"].data
    assert [bar.name for bar in bars] == ["fsync", "fdatasync"]
    assert [list(bar.x) for bar in bars] == [["p50", "p95", "p99"]] * 2
    assert bars[0].y[0] == pytest.approx(9_700)
    assert bars[0].y[2] == pytest.approx(19_000)


def test_the_axis_names_whole_figures() -> None:
    axis = charts_of(probe_result())["iops"].layout.yaxis
    assert "20,000" in axis.ticktext
    level = probe_result(reads=200, writes=210)
    reads = replace(level, jobs=tuple(replace(j, iops=170.0) for j in level.jobs))
    assert {"150", "200"} <= set(charts_of(reads)["iops"].layout.yaxis.ticktext)
    slow = probe_result(reads=2, writes=1_000_000)
    assert set(charts_of(slow)["iops"].layout.yaxis.ticktext) >= {"1", "1,000,000"}


def test_what_was_not_measured_has_no_chart() -> None:
    found = without(probe_result(), Purpose.COMMIT, Purpose.LOW_LOAD)
    assert set(charts_of(found)) == {"iops", "read-latency", "write-latency", "split"}
    assert charts_of(without(probe_result(), *Purpose)) == {}
