"""One probe from start to end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.probe.fio import ENGINES, Control, Fio, find_fio, run_job, works
from benchmarks.probe.jobs import MIN_JOB_S, Job, Pattern, Purpose, plan_jobs
from benchmarks.probe.result import JobResult, ProbeResult
from benchmarks.probe.split import read_counters, split_latency, user_us_per_request
from benchmarks.probe.tracing import Tracer, tracer
from benchmarks.probe.workspace import (
    MIB,
    Workspace,
    buffered_size,
    file_size,
    supports_direct,
    workspace,
)
from benchmarks.storage.human import human_bytes
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind
from benchmarks.storage.reserve import ReserveWatch

#: The span a user may choose from, and what is usual, in seconds.
MIN_S, USUAL_S, MAX_S = 30.0, 50.0, 60.0
#: A probe that takes this many times its time is ended.
_PATIENCE = 4.0
_MIN_PATIENCE_S = 60.0
#: Less than this written in the time for it, and random requests would all fall close together.
_MIN_USEFUL = 16 * MIB


def probe_device(
    device: DeviceIdentity,
    *,
    seconds: float = USUAL_S,
    resource_limits: CgroupLimits | None = None,
    deadline_s: float | None = None,
    progress: Callable[[float, str], None] = lambda _fraction, _job: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> ProbeResult:
    """Measure a device, as it was identified just now, for about `seconds` on a file of our own.

    With `resource_limits` (what `benchmarks.emulation.device.emulated_device` gives) fio runs
    under them and the result is labelled by them; waiting for a limit counts as the kernel's time.
    `progress` is given the part (0..1) of its time that is over, and the job that begins.
    The probe ends `deadline_s` seconds (four times `seconds`, at least a minute) after its
    start. Nothing but the device should be busy meanwhile: the caller sees to that.

    Raises NoFio, DeviceUnusable, ProbeFailed, EmulationUnavailable, or RunFailed with CANCELLED,
    TIMED_OUT or DISK_FULL. Leaves no file behind, however it ends.
    """
    began = time.monotonic()
    patience_s = deadline_s or max(_MIN_PATIENCE_S, _PATIENCE * seconds)
    date = datetime.now(UTC)
    fio = find_fio()
    with ExitStack() as stack:
        watch = stack.enter_context(ReserveWatch([device.path], should_stop))
        control = Control(began + patience_s, watch.should_stop, resource_limits)
        scratch = stack.enter_context(workspace(device.path))
        size = file_size(device)
        os.ftruncate(scratch.descriptor, size)
        engine, direct_missing = _choose_engine(fio, scratch, size, control)
        if direct_missing:
            size = min(size, buffered_size())
        jobs = plan_jobs(seconds, direct=not direct_missing)
        tracing = stack.enter_context(tracer(device.block_device))
        bench = _Bench(fio, engine, scratch, device.block_device, tracing, control)
        total_s, done_s = sum(job.seconds for job in jobs), 0.0
        results: list[JobResult] = []
        used = size
        for job in jobs:
            progress(done_s / total_s, job.name)
            results.append(bench.measure(job, used))
            done_s += job.seconds
            if job.purpose is Purpose.FILL:
                used = _used_bytes(results[0], size)
        progress(1.0, "")
    return ProbeResult(
        date=date,
        seconds=time.monotonic() - began,
        fio_version=fio.version,
        engine=engine,
        device=device,
        file_bytes=used,
        direct_missing=direct_missing,
        tracing_missing=tracing if isinstance(tracing, str) else "",
        jobs=tuple(results),
        notes=tuple(_notes(device, used, direct_missing)),
        emulated=resource_limits.label if resource_limits else "",
    )


@dataclass(frozen=True)
class _Bench:
    """All that the jobs of one probe have in common."""

    fio: Fio
    engine: str
    scratch: Workspace
    block_device: str | None
    tracing: Tracer | str
    control: Control
    user_us: dict[Pattern, float] = field(default_factory=dict)

    def measure(self, job: Job, size: int) -> JobResult:
        """One job, and where its requests spent their time."""
        is_idle = job.purpose is Purpose.LOW_LOAD
        tracing = self.tracing if is_idle and isinstance(self.tracing, Tracer) else None
        before = read_counters(self.block_device, job.pattern)
        with tracing.on() if tracing else nullcontext():
            result = run_job(self.fio, job, self.engine, self.scratch, size, self.control)
        dispatched_us = tracing.dispatch_to_completion_us(job) if tracing else None
        split = split_latency(
            result,
            before,
            read_counters(self.block_device, job.pattern),
            dispatched_us=dispatched_us,
            user_us=self.user_us.get(job.pattern) if job.rate_iops else None,
        )
        if job.purpose is Purpose.LOAD and job.queue_depth == 1:
            self.user_us.setdefault(job.pattern, user_us_per_request(result))
        if isinstance(split, str):
            return replace(result, split_missing=split)
        return replace(result, split=split)


def _choose_engine(fio: Fio, scratch: Workspace, size: int, control: Control) -> tuple[str, str]:
    """The first of fio's engines that writes around the page cache here, or why none does.

    Each is tried for a moment: kernels, containers and file systems forbid them in many ways.
    """
    if missing := supports_direct(scratch.descriptor):
        return "psync", missing
    trial = replace(plan_jobs(0, direct=True)[0], seconds=MIN_JOB_S)
    for engine in ENGINES:
        if works(fio, trial, engine, scratch, size, control):
            return engine, ""
    return "psync", f"direct I/O failed with each of fio's engines {', '.join(ENGINES)}"


def _used_bytes(filled: JobResult, size: int) -> int:
    """How much of the file was written, in whole MiB: the rest has no blocks to read from."""
    written = min(size, filled.requests * filled.job.block_bytes) // MIB * MIB
    if written < _MIN_USEFUL:
        raise RunFailed(
            Outcome.TIMED_OUT,
            f"In {filled.seconds:.0f} s no more than {human_bytes(written)} could be written; "
            f"{human_bytes(_MIN_USEFUL)} are needed to separate random from sequential access.",
        )
    return written


def _notes(device: DeviceIdentity, used: int, direct_missing: str) -> list[str]:
    notes = []
    if direct_missing:
        notes.append(
            f"Buffered only: {direct_missing}. Reads then partly measure memory, not the device."
        )
    # a virtual disk says that it rotates as well
    has_heads = device.kind is DeviceKind.HDD or (
        device.kind is DeviceKind.RAID and any(m.kind is DeviceKind.HDD for m in device.members)
    )
    if has_heads and used * 20 < device.total_bytes:
        notes.append(
            f"The file takes {human_bytes(used)} of {human_bytes(device.total_bytes)}: heads move "
            "less within it than within a large database."
        )
    return notes
