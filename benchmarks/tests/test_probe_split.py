"""A request's time is shared among program, kernel and device only where that can be known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchmarks.probe.jobs import PAGE_BYTES, Job, Pattern, Purpose
from benchmarks.probe.latency_split import (
    Counters,
    Splitter,
    dispatch_times,
    read_counters,
    split_latency,
    tracer,
    user_us,
)
from benchmarks.probe.result import JobResult, Latency, LatencySplit

TRACE = (Path(__file__).parent / "recorded" / "block-trace.txt").read_text()
READS = Job(Purpose.LOAD, Pattern.RANDOM_READ, PAGE_BYTES)
FLAT = Latency(100.0, 100.0, 100.0, 100.0, 100.0)
RESULT = JobResult(
    job=READS,
    engine="libaio",
    seconds=2.0,
    requests=20_000,
    iops=10_000.0,
    mb_s=163.84,
    latency=FLAT,
    flush=None,
    user_cpu_pct=3.0,
    system_cpu_pct=20.0,
)


def parts(
    result: JobResult, ticks_ms: int, requests: int = 20_000, dispatched_us: float | None = None
) -> LatencySplit | str:
    before, after = Counters(500, 70), Counters(500 + requests, 70 + ticks_ms)
    return split_latency(result, before, after, 3.0, dispatched_us)


def test_the_disks_counters_separate_the_device_from_the_kernel() -> None:
    assert parts(RESULT, ticks_ms=1600) == LatencySplit(3.0, 20.0, None, 80.0, "counters")


def test_tracepoints_also_separate_the_queue_from_the_device() -> None:
    split = parts(RESULT, 1600, dispatched_us=70.0)
    assert split == LatencySplit(3.0, 20.0, 10.0, 70.0, "tracepoints")
    alone = split_latency(RESULT, None, None, 3.0, dispatched_us=70.0)
    assert alone == LatencySplit(3.0, 30.0, None, 70.0, "tracepoints")


def test_the_program_is_charged_with_its_own_cpu_time() -> None:
    assert user_us(RESULT) == 3.0  # 3 % of 2 s over 20000 requests
    threads = replace(RESULT, engine="psync", job=replace(READS, queue_depth=4))
    assert user_us(threads) == 12.0  # each has a clock of its own


def test_a_paced_job_takes_the_programs_time_from_an_unpaced_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = iter([(0, 0), (20_000, 1600), (20_000, 1600), (40_000, 3200)])
    monkeypatch.setattr(
        "benchmarks.probe.latency_split.read_counters", lambda *_: Counters(*next(counted))
    )
    splitter = Splitter("vda", "no tracer here")
    paced = replace(READS, purpose=Purpose.LOW_LOAD, rate_iops=50)
    for job in (READS, paced):
        result = replace(RESULT, job=job, user_cpu_pct=50.0 if job is paced else 0.5)
        measured = splitter.measure(job, partial(replace, result))
        assert measured.split is not None
        assert measured.split.user_us == 0.5


@pytest.mark.parametrize(
    ("result", "ticks_ms", "requests", "said"),
    [
        (RESULT, 1600, 9_000, "merged or split, or others"),
        (RESULT, 1600, 40_000, "The disk counted 40000 requests, but fio made 20000"),
        (RESULT, 3, 20_000, "too few"),
        (replace(RESULT, job=replace(READS, direct=False)), 1600, 20_000, "page cache"),
    ],
)
def test_what_cannot_be_separated_is_stated_and_not_guessed(
    result: JobResult, ticks_ms: int, requests: int, said: str
) -> None:
    split = parts(result, ticks_ms, requests)
    assert isinstance(split, str)
    assert said in split


def test_without_a_block_device_there_is_no_split() -> None:
    assert "no block device" in str(split_latency(RESULT, None, None, 3.0))


def test_counters_are_read_by_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SimpleNamespace(read_count=76, read_time=53, write_count=108, write_time=45)
    monkeypatch.setattr(psutil, "disk_io_counters", lambda **_: {"vda": disk})
    assert read_counters("vda", Pattern.SEQUENTIAL_READ) == Counters(76, 53)
    assert read_counters("vda", Pattern.RANDOM_WRITE) == Counters(108, 45)
    assert read_counters("vdb", Pattern.RANDOM_WRITE) is None
    assert read_counters(None, Pattern.RANDOM_WRITE) is None


def test_a_recorded_trace_gives_each_requests_time() -> None:
    times = dispatch_times(TRACE, "254:0", READS)
    assert times == pytest.approx([228, 167, 232], abs=0.5)


def test_an_older_kernels_trace_is_read_as_well() -> None:
    # without the priority
    older = (
        "fio-1 [001] .... 10.000100: block_rq_issue: 8,0 R 16384 () 4096 + 32 [fio]\n"
        "<idle>-0 [001] ..s. 10.000350: block_rq_complete: 8,0 R () 4096 + 32 [0]\n"
    )
    assert dispatch_times(older, "8:0", READS) == pytest.approx([250], abs=0.5)


def test_requests_of_others_are_left_out() -> None:
    foreign = (
        "x-1 [000] ..... 1.000000: block_rq_issue: 254,0 RA 16384 () 64 + 32 be,0,4 [x]\n"
        "x-1 [000] ..... 1.000001: block_rq_issue: 254,0 WS 16384 () 96 + 32 be,0,4 [x]\n"
        "x-1 [000] ..... 1.000002: block_rq_issue: 254,0 R 4096 () 128 + 8 be,0,4 [x]\n"
        "x-1 [000] ..... 1.000003: block_rq_issue: 254,16 R 16384 () 160 + 32 be,0,4 [x]\n"
        "x-1 [000] ..... 1.000004: block_rq_complete: 254,0 R () 192 + 32 be,0,4 [0]\n"
    )
    completed = foreign.replace("block_rq_issue", "block_rq_complete").replace("16384 ", "")
    assert dispatch_times(foreign + completed, "254:0", READS) == []


@pytest.mark.parametrize("device", [None, "no-such-disk"])
def test_no_tracer_says_why(device: str | None) -> None:
    with tracer(device) as tracing:
        assert isinstance(tracing, str)
        assert "mount -t tracefs" in tracing
