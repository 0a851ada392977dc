"""A probe's result keeps all it found, and suggests a range to test."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.probe.jobs import PAGE_BYTES, SEQUENTIAL_BYTES, Job, Pattern, Purpose
from benchmarks.probe.result import (
    JobResult,
    Latency,
    LatencySplit,
    ProbeResult,
    suggested_io_capacity,
)
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind

LATENCY = Latency(61.5, 60.0, 80.25, 91.0, 720.0)
DEVICE = DeviceIdentity(
    path=Path("/srv/data"),
    kind=DeviceKind.NVME,
    block_device="nvme0n1",
    model="SAMSUNG PM1725",
    scheduler="none",
    file_system="xfs",
    mount_options="rw,noatime",
    total_bytes=10**12,
    free_bytes=5 * 10**11,
)


def job_result(job: Job, iops: float) -> JobResult:
    return JobResult(
        job=job,
        engine="libaio",
        seconds=2.0,
        requests=int(2 * iops),
        iops=iops,
        mb_s=iops * job.block_bytes / 1e6,
        latency=LATENCY,
        flush=LATENCY if job.sync else None,
        user_cpu_pct=2.0,
        system_cpu_pct=30.0,
        split=LatencySplit(1.0, 11.5, None, 50.0, "counters") if job.direct else None,
        split_missing="" if job.direct else "Buffered.",
    )


def paged(pattern: Pattern, depth: int, direct: bool = True) -> Job:
    return Job(Purpose.LOAD, pattern, PAGE_BYTES, depth, direct)


def probe(writes: float = 40_000, direct_missing: str = "") -> ProbeResult:
    direct = not direct_missing
    jobs: tuple[JobResult, ...] = (
        job_result(Job(Purpose.FILL, Pattern.SEQUENTIAL_WRITE, SEQUENTIAL_BYTES, 4), 9_999),
        job_result(paged(Pattern.RANDOM_READ, 16, direct), 60_000),
        job_result(paged(Pattern.RANDOM_READ, 1, direct), 15_000),
        job_result(paged(Pattern.RANDOM_WRITE, 1, direct), writes / 2),
        job_result(paged(Pattern.RANDOM_WRITE, 64, direct), writes),
        job_result(Job(Purpose.LOAD, Pattern.SEQUENTIAL_READ, SEQUENTIAL_BYTES, 8), 3_000),
        job_result(Job(Purpose.LOW_LOAD, Pattern.RANDOM_READ, PAGE_BYTES, rate_iops=50), 50),
        job_result(
            Job(Purpose.COMMIT, Pattern.SEQUENTIAL_WRITE, 4096, direct=False, sync="fsync"), 8_000
        ),
    )
    if direct:
        jobs += (job_result(paged(Pattern.RANDOM_WRITE, 1, False), 500_000),)
    return ProbeResult(
        date=datetime(2026, 11, 21, 4, 30, tzinfo=UTC),
        seconds=46.3,
        fio_version="3.33",
        engine="libaio",
        device=DEVICE,
        file_bytes=2**30,
        direct_missing=direct_missing,
        tracing_missing="tracefs is not mounted",
        jobs=jobs,
        notes=("a note",),
    )


def test_a_result_survives_json() -> None:
    result = probe()
    assert ProbeResult.from_json(json.loads(json.dumps(result.as_json()))) == result


def test_a_charts_points_go_from_shallow_to_deep_queues() -> None:
    reads = probe().by_depth(Pattern.RANDOM_READ)
    assert [(r.job.queue_depth, r.iops) for r in reads] == [(1, 15_000), (16, 60_000)]
    buffered = probe().by_depth(Pattern.RANDOM_WRITE, direct=False)
    assert [r.iops for r in buffered] == [500_000]


def test_the_best_is_of_direct_load_neither_of_the_fill_nor_of_memory() -> None:
    result = probe()
    best = [result.best(pattern) for pattern in Pattern]
    assert best == [60_000, 40_000, 3_000 * SEQUENTIAL_BYTES / 1e6, None]


def test_commit_and_low_load_are_found() -> None:
    result = probe()
    commit, reads = result.commit(), result.low_load(Pattern.RANDOM_READ)
    assert commit is not None
    assert commit.flush == LATENCY
    assert reads is not None
    assert reads.job.rate_iops == 50
    assert result.commit("fdatasync") is None


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (190, (100, 200)),  # SYSTOR 2015, the 15K disk
        (2_000, (100, 1_000)),
        (20_000, (500, 10_000)),
        (120_000, (3_000, 50_000)),  # whitepaper, Table 4: NVMe; its best is 15000 (Figure 11)
        (1, (100, 200)),
    ],
)
def test_the_range_of_io_capacity_follows_from_random_writes(
    writes: float, expected: tuple[int, int]
) -> None:
    assert suggested_io_capacity(probe(writes)) == expected


def test_without_direct_io_the_flushed_writes_count() -> None:
    assert suggested_io_capacity(probe(2_000, "no direct I/O")) == (100, 1_000)


def test_no_random_writes_no_range() -> None:
    result = probe()
    reads = tuple(r for r in result.jobs if r.job.pattern.reads)
    with pytest.raises(ValueError, match="no random writes"):
        suggested_io_capacity(replace(result, jobs=reads))
