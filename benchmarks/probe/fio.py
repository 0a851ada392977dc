"""Runs one job with fio (https://fio.readthedocs.io) and reads its JSON."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.drivers.child import Child
from benchmarks.emulation.device import NOT_ENTERED, CgroupLimits, not_entered
from benchmarks.errors import NoFio, ProbeFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.probe.jobs import Job, Purpose
from benchmarks.probe.result import JobResult, Latency
from benchmarks.probe.workspace import Workspace
from benchmarks.processes.child import run

#: The asynchronous engines, best first: InnoDB on Linux uses libaio. psync works everywhere.
ENGINES = ("libaio", "io_uring", "psync")
_PERCENTILES = (50, 95, 99)
#: How much longer than its own time a job may take: a flush of what it wrote, a slow start.
_SLACK_S = 60.0
_ASK_EVERY_S = 0.25
_WAIT_S = 0.1
#: fio's words for a full device; its exit status is 1 for everything.
_DISK_FULL = "No space left on device"


@dataclass(frozen=True)
class Fio:
    """An installed fio. `version` is "3.33"."""

    path: Path
    version: str


def find_fio(search_path: str | None = None) -> Fio:
    """fio on PATH (or `search_path`); NoFio with what to do when there is none that runs."""
    found = shutil.which("fio", path=search_path)
    if found is None:
        raise NoFio("fio, which probes devices, is not installed: apt install fio")
    try:
        said = run(found, "--version")
    except OSError as error:
        raise NoFio(f"{found} does not run: {error}; apt install --reinstall fio") from error
    version = re.search(r"fio-(\S+)", said.output)
    if said.status or version is None:
        raise NoFio(f"{found} does not say its version; apt install --reinstall fio")
    return Fio(Path(found), version.group(1))


@dataclass(frozen=True)
class Control:
    """How a job can be ended from outside, and what fio is put into.

    `deadline` is the monotonic clock's. `resource_limits` makes the device an emulated one.
    """

    deadline: float
    should_stop: Callable[[], bool]
    resource_limits: CgroupLimits | None = None


def run_job(
    fio: Fio, job: Job, engine: str, workspace: Workspace, size: int, control: Control
) -> JobResult:
    """Run one job on the first `size` bytes of the probe's file.

    Raises RunFailed (CANCELLED, TIMED_OUT, DISK_FULL), ProbeFailed or, where the resource limits
    does not let it in, EmulationUnavailable. fio is killed with us.
    """
    entry = control.resource_limits.entry_words if control.resource_limits else []
    argv = [str(fio.path), *arguments(job, engine, workspace.file_name, size)]
    deadline = min(control.deadline, time.monotonic() + job.seconds + _SLACK_S)
    output: list[str] = []
    asked = float("-inf")
    with Child(
        argv, cwd=workspace.directory, pass_fds=(workspace.descriptor,), entry=entry
    ) as child:
        while not child.silent():
            now = time.monotonic()
            if now - asked >= _ASK_EVERY_S:
                asked = now
                if control.should_stop():
                    raise RunFailed(Outcome.CANCELLED, "The probe was cancelled.")
            if now > deadline:
                raise RunFailed(
                    Outcome.TIMED_OUT,
                    f"The probe was stopped at its deadline, during job {job.name}.",
                    log_tail=child.output()[-2000:],
                )
            output += child.read(_WAIT_S).output
        status = child.wait(10)
        if killed := child.ended_by_another():
            raise killed
        said = child.output()
    if control.resource_limits and status == NOT_ENTERED:
        raise not_entered(said)
    if _DISK_FULL in said:
        raise RunFailed(Outcome.DISK_FULL, f"The device is full, during job {job.name}.")
    if status != 0:
        raise ProbeFailed(f"fio failed in job {job.name}: {_reason(said, status)}")
    return parse(job, engine, "\n".join(output))


def works(
    fio: Fio, job: Job, engine: str, workspace: Workspace, size: int, control: Control
) -> bool:
    """Whether fio can do a job of this kind here with that engine; tries it for a moment."""
    try:
        run_job(fio, job, engine, workspace, size, control)
    except ProbeFailed:
        return False
    return True


def arguments(job: Job, engine: str, file_name: str, size: int) -> list[str]:
    """fio's command line. A queue that the engine has not is made of as many threads."""
    asynchronous = job.direct and engine != "psync" and not job.sync
    depth = ("iodepth", job.queue_depth) if asynchronous else ("numjobs", job.queue_depth)
    options: list[tuple[str, str | int]] = [
        ("name", "probe"),
        ("filename", file_name),
        ("size", size),
        ("ioengine", engine if asynchronous else "psync"),
        ("direct", int(job.direct)),
        ("rw", job.pattern.value),
        ("bs", job.block_bytes),
        depth,
        ("runtime", f"{round(job.seconds * 1000)}ms"),
        # the file is ours, of its full size, and has no name that fio could unlink
        ("allow_file_create", 0),
        ("fallocate", "none"),
        # else it compares the processors' counters first, at each start, and keeps them busy
        ("clocksource", "clock_gettime"),
        # random bytes, changed a little for each request: some devices compress or deduplicate;
        # new ones each time would make fio the slowest part
        ("scramble_buffers", 1),
        ("randrepeat", 0),
        ("lat_percentiles", 1),
        ("percentile_list", ":".join(str(p) for p in _PERCENTILES)),
        ("output-format", "json"),
    ]
    if job.purpose is Purpose.FILL:
        options.append(("end_fsync", 1))
    else:
        options.append(("time_based", 1))
    if job.sync:
        options.append((job.sync, job.sync_every))
    if job.rate_iops is not None:
        options.append(("rate_iops", job.rate_iops))
    return [
        *(f"--{name}={value}" for name, value in options),
        "--thread",
        "--group_reporting",
    ]


def parse(job: Job, engine: str, output: str) -> JobResult:
    """fio's JSON, which may follow lines of warnings; ProbeFailed when it holds no requests."""
    document = _document(output)
    try:
        report = document["jobs"][0]
        side = report["read" if job.pattern.reads else "write"]
        requests = int(side["total_ios"])
        if report["error"]:
            raise ProbeFailed(f"fio reports error {report['error']} in job {job.name}")
        if requests == 0:
            raise ProbeFailed(f"not one request of the job {job.name} was completed")
        asynchronous = side["slat_ns"]["N"] > 0
        return JobResult(
            job=job,
            engine=engine if asynchronous else "psync",
            seconds=side["runtime"] / 1000,
            requests=requests,
            iops=float(side["iops"]),
            mb_s=side["bw_bytes"] / 1e6,
            latency=_latency(side["lat_ns"]),
            flush=_latency(report["sync"]["lat_ns"]) if job.sync else None,
            user_cpu_pct=float(report["usr_cpu"]),
            system_cpu_pct=float(report["sys_cpu"]),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ProbeFailed(f"fio's report of the job {job.name} lacks {error}") from error


def _document(output: str) -> Mapping[str, Any]:
    start = output.find("{")
    try:
        document = json.loads(output[start:] if start >= 0 else "")
    except ValueError as error:
        raise ProbeFailed(f"fio's report is not JSON: {output[:200]!r}") from error
    if not isinstance(document, dict):
        raise ProbeFailed(f"fio's report is not an object: {output[:200]!r}")
    return document


def _latency(report: Mapping[str, Any]) -> Latency:
    """fio's nanoseconds as microseconds; its percentiles' names have six decimals."""
    marks = report["percentile"]
    p50, p95, p99 = (marks[f"{p}.000000"] / 1000 for p in _PERCENTILES)
    return Latency(report["mean"] / 1000, p50, p95, p99, report["max"] / 1000)


def _reason(said: str, status: int | None) -> str:
    """The line of fio's that says what went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("fio:") or "error=" in line]
    return (telling or [f"exit status {status}"])[0][:300]
