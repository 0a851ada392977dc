"""fio is asked the right things, and its reports are read as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.errors import NoFio, ProbeFailed
from benchmarks.probe.fio import arguments, find_fio, parse
from benchmarks.probe.jobs import (
    LOG_WRITE_BYTES,
    PAGE_BYTES,
    QUEUE_DEPTHS,
    SEQUENTIAL_BYTES,
    Job,
    Pattern,
    Purpose,
    plan_jobs,
)

RECORDED = Path(__file__).parent / "recorded" / "fio"

FILL = Job(Purpose.FILL, Pattern.SEQUENTIAL_WRITE, SEQUENTIAL_BYTES, 4)
READ = Job(Purpose.LOAD, Pattern.RANDOM_READ, PAGE_BYTES, 16)
BUFFERED = Job(
    Purpose.LOAD, Pattern.RANDOM_WRITE, PAGE_BYTES, 4, False, sync="fsync", sync_every=64
)
LOW_LOAD = Job(Purpose.LOW_LOAD, Pattern.RANDOM_READ, PAGE_BYTES, rate_iops=50)
COMMIT = Job(Purpose.COMMIT, Pattern.SEQUENTIAL_WRITE, LOG_WRITE_BYTES, direct=False, sync="fsync")


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.json").read_text()


def test_a_report_of_direct_reads_has_all_its_figures() -> None:
    result = parse(READ, "libaio", recorded("randread-depth-16"))
    assert (result.engine, result.requests) == ("libaio", 78095)
    assert result.seconds == 2.001
    assert result.iops == pytest.approx(39028, abs=1)
    assert result.mb_s == pytest.approx(result.iops * PAGE_BYTES / 1e6, rel=0.001)
    assert result.latency.mean == pytest.approx(409.44, abs=0.01)
    assert (result.latency.p50, result.latency.p95, result.latency.p99) == (
        350.208,
        432.128,
        2670.592,
    )
    assert result.latency.max == pytest.approx(11196.577)
    assert (result.user_cpu_pct, result.system_cpu_pct) == (2.35, 26.45)
    assert result.flush is None


def test_threads_are_called_what_they_are() -> None:
    result = parse(BUFFERED, "libaio", recorded("randwrite-buffered-depth-4"))
    assert result.engine == "psync"
    assert result.flush is not None
    assert result.flush.mean == pytest.approx(3770.8, abs=0.1)


def test_the_flush_of_a_commit_is_separated_from_its_write() -> None:
    result = parse(COMMIT, "psync", recorded("commit-fsync"))
    assert result.flush is not None
    assert (result.flush.p50, result.flush.p95, result.flush.p99) == (102.912, 146.432, 2670.592)
    assert result.latency.p99 < 20  # the write itself went to memory


@pytest.mark.parametrize(("job", "name"), [(FILL, "fill"), (LOW_LOAD, "randread-low-load")])
def test_warnings_around_the_report_are_skipped(job: Job, name: str) -> None:
    warning = "fio: this platform does not support process shared mutexes\nnote: both iodepth\n"
    said = f"{warning}{recorded(name)}\n{warning}"
    assert parse(job, "libaio", said) == parse(job, "libaio", recorded(name))


def spoilt(**values: int) -> str:
    document = json.loads(recorded("randread-depth-16"))
    report = document["jobs"][0]
    for name, value in values.items():
        (report if name in report else report["read"])[name] = value
    return json.dumps(document)


WRITE = Job(Purpose.LOAD, Pattern.RANDOM_WRITE, PAGE_BYTES, 16)


@pytest.mark.parametrize(
    ("job", "output", "said"),
    [
        (READ, "", "not JSON"),
        (READ, "fio: failed\n", "not JSON"),
        (READ, "{}", "lacks 'jobs'"),
        (READ, recorded("randread-depth-16")[:900], "not JSON"),
        (READ, spoilt(total_ios=0), "not one request"),
        (READ, spoilt(error=5), "error 5"),
        (WRITE, recorded("randread-depth-16"), "not one request"),
    ],
)
def test_a_report_without_figures_is_an_error(job: Job, output: str, said: str) -> None:
    with pytest.raises(ProbeFailed, match=said):
        parse(job, "libaio", output)


def options(job: Job, engine: str = "libaio") -> dict[str, str]:
    pairs = (word.removeprefix("--").partition("=") for word in arguments(job, engine, "/f", 99))
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize(
    ("job", "engine", "given"),
    [
        # Depth is a queue where the engine has one, and threads elsewhere: buffered requests wait
        # in the system call, and so do flushes.
        (READ, "libaio", {"ioengine": "libaio", "iodepth": "16", "numjobs": None}),
        (READ, "psync", {"ioengine": "psync", "iodepth": None, "numjobs": "16"}),
        (BUFFERED, "libaio", {"ioengine": "psync", "numjobs": "4", "fsync": "64"}),
        (COMMIT, "libaio", {"fsync": "1"}),
        (LOW_LOAD, "libaio", {"rate_iops": "50"}),
    ],
)
def test_fio_is_asked_for_the_job(job: Job, engine: str, given: dict[str, str | None]) -> None:
    asked = options(job, engine)
    assert {name: asked.get(name) for name in given} == given


def test_fio_writes_to_the_one_file_it_is_given_and_makes_none() -> None:
    for job in plan_jobs(45, direct=True):
        given = options(job)
        assert (given["filename"], given["size"]) == ("/f", "99")
        assert given["allow_file_create"] == "0"
        assert not {"directory", "output", "write_bw_log", "unlink"} & set(given)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("seconds", [30, 45, 60])
def test_a_plan_takes_the_time_it_is_given(seconds: float, direct: bool) -> None:
    jobs = plan_jobs(seconds, direct=direct)
    assert sum(job.seconds for job in jobs) + 0.3 * len(jobs) == pytest.approx(seconds)
    assert min(job.seconds for job in jobs) > 0.8


def test_a_plan_measures_what_a_database_asks_of_a_device() -> None:
    jobs = plan_jobs(45, direct=True)
    assert jobs[0].purpose is Purpose.FILL
    for pattern in (Pattern.RANDOM_READ, Pattern.RANDOM_WRITE):
        load = [j for j in jobs if j.purpose is Purpose.LOAD and j.pattern is pattern]
        assert [j.queue_depth for j in load if j.direct] == list(QUEUE_DEPTHS)
        assert [j for j in load if not j.direct]
        assert {j.block_bytes for j in load} == {PAGE_BYTES}
    assert {j.sync for j in jobs if j.purpose is Purpose.COMMIT} == {"fsync", "fdatasync"}
    assert sum(j.purpose is Purpose.LOW_LOAD for j in jobs) == 2


def test_without_direct_io_everything_is_buffered_and_every_write_is_flushed() -> None:
    jobs = plan_jobs(45, direct=False)
    assert not any(job.direct for job in jobs)
    for job in jobs:
        if not job.pattern.reads and job.purpose is not Purpose.FILL:
            assert job.sync


def test_an_absent_fio_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NoFio, match="apt install fio"):
        find_fio(str(tmp_path))


@pytest.mark.parametrize("script", ["exit 1", "echo something else"])
def test_a_program_that_is_no_fio_is_not_taken_for_it(tmp_path: Path, script: str) -> None:
    program = tmp_path / "fio"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(NoFio, match="apt install"):
        find_fio(str(tmp_path))
