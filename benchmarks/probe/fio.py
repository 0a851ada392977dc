"""Runs jobs with fio (https://fio.readthedocs.io) and reads its JSON."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.emulation.device import NOT_ENTERED, CgroupLimits, not_entered
from benchmarks.errors import NoFio, ProbeFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.probe.jobs import Job, Purpose
from benchmarks.probe.result import JobResult, Latency
from benchmarks.processes.child import Child, run

#: The asynchronous engines, best first: InnoDB on Linux uses libaio. psync works everywhere.
ENGINES = ("libaio", "io_uring", "psync")
_PERCENTILES = (50, 95, 99)
#: How much longer than its own time a job may take: a flush of what it wrote, a slow start.
_SLACK_S = 60.0
#: fio's words for a full device; its exit status is 1 for everything.
_DISK_FULL = "No space left on device"


def find_fio(search_path: str | None = None) -> tuple[Path, str]:
    """Return fio on PATH (or `search_path`) and its version, such as "3.33".

    Raises NoFio with what to do when there is none that runs.
    """
    found = shutil.which("fio", path=search_path)
    with contextlib.suppress(OSError):
        if found and (version := re.search(r"fio-(\S+)", run(found, "--version").output)):
            return Path(found), version[1]
    raise NoFio("fio, which probes devices, is not installed or does not run: apt install fio")


@dataclass(frozen=True)
class Fio:
    """The fio of one probe: its program, the folder it runs in and the file it works on.

    `deadline` is the monotonic clock's. `resource_limits` make the device an emulated one.
    """

    program: Path
    folder: Path
    file: IO[bytes]
    deadline: float
    should_stop: Callable[[], bool]
    resource_limits: CgroupLimits | None = None

    def run(self, job: Job, engine: str, size: int) -> JobResult:
        """Run one job on the first `size` bytes of the file.

        Raises RunFailed (CANCELLED, TIMED_OUT, DISK_FULL, LOST), ProbeFailed or, where the
        resource limits do not let fio in, EmulationUnavailable. fio is killed with us.
        """
        limits, descriptor = self.resource_limits, self.file.fileno()
        # Any process that inherits the descriptor can open the file by this name.
        words = arguments(job, engine, f"/dev/fd/{descriptor}", size)
        patience_s = min(self.deadline - time.monotonic(), job.seconds + _SLACK_S)
        # In memory: the device has nothing to do but the job.
        with os.fdopen(os.memfd_create("report"), "w+b") as report:
            with Child(
                [str(self.program), *words],
                cwd=self.folder,
                stdout=report,
                pass_fds=(descriptor,),
                entry=limits.entry_words if limits else (),
            ) as child:
                what = f"job {job.name} of the probe"
                status = child.finish(what, patience_s, should_stop=self.should_stop)
            report.seek(0)
            said = report.read().decode(errors="replace")
        if limits and status == NOT_ENTERED:
            raise not_entered(said)
        if _DISK_FULL in said:
            raise RunFailed(Outcome.DISK_FULL, f"The device is full, during job {job.name}.")
        if status != 0:
            raise ProbeFailed(f"fio failed in job {job.name}: {_reason(said, status)}")
        return parse(job, engine, said)

    def works(self, job: Job, engine: str, size: int) -> bool:
        """Whether fio can do a job of this kind here with that engine; tries it for a moment."""
        try:
            self.run(job, engine, size)
        except ProbeFailed:
            return False
        return True


def arguments(job: Job, engine: str, file_name: str, size: int) -> list[str]:
    """Return fio's command line. A queue that the engine has not is made of as many threads."""
    asynchronous = job.direct and engine != "psync" and not job.sync
    options: dict[str, str | int] = {
        "name": "probe",
        "filename": file_name,
        "size": size,
        "ioengine": engine if asynchronous else "psync",
        "direct": int(job.direct),
        "rw": job.pattern.value,
        "bs": job.block_bytes,
        "iodepth" if asynchronous else "numjobs": job.queue_depth,
        "runtime": f"{round(job.seconds * 1000)}ms",
        # the file is ours, of its full size, and has no name that fio could unlink
        "allow_file_create": 0,
        "fallocate": "none",
        # else it compares the processors' counters first, at each start, and keeps them busy
        "clocksource": "clock_gettime",
        # random bytes, changed a little for each request: some devices compress or deduplicate;
        # new ones each time would make fio the slowest part
        "scramble_buffers": 1,
        "randrepeat": 0,
        "lat_percentiles": 1,
        "percentile_list": ":".join(str(p) for p in _PERCENTILES),
        "output-format": "json",
        "end_fsync" if job.purpose is Purpose.FILL else "time_based": 1,
    }
    if job.sync:
        options[job.sync] = job.sync_every
    if job.rate_iops is not None:
        options["rate_iops"] = job.rate_iops
    return ["--thread", "--group_reporting", *(f"--{key}={options[key]}" for key in options)]


def parse(job: Job, engine: str, output: str) -> JobResult:
    """Read fio's JSON, which lines of warnings may surround.

    Raises ProbeFailed when it holds no requests.
    """
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
    try:
        document: dict[str, Any] = json.JSONDecoder().raw_decode(output, output.index("{"))[0]
    except ValueError as error:
        raise ProbeFailed(f"fio's report is not JSON: {output[:200]!r}") from error
    return document


def _latency(report: Mapping[str, Any]) -> Latency:
    """Return fio's nanoseconds as microseconds; its percentiles' names have six decimals."""
    marks = report["percentile"]
    p50, p95, p99 = (marks[f"{p}.000000"] / 1000 for p in _PERCENTILES)
    return Latency(report["mean"] / 1000, p50, p95, p99, report["max"] / 1000)


def _reason(said: str, status: int | None) -> str:
    """Return the line of fio's that says what went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("fio:") or "error=" in line]
    return (telling or [f"exit status {status}"])[0][:300]
