"""One probe from start to end."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

import psutil

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import DeviceUnusable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import held_folder, make_ours
from benchmarks.probe.fio import ENGINES, Fio, find_fio
from benchmarks.probe.jobs import MIN_JOB_S, Purpose, plan_jobs
from benchmarks.probe.latency_split import Splitter, tracer
from benchmarks.probe.result import JobResult, ProbeResult
from benchmarks.processes.users import server_user
from benchmarks.servers.running import sweep_folders
from benchmarks.storage.human import human_bytes
from benchmarks.storage.identify import check_usable, supports_direct_io
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind
from benchmarks.storage.layout import DeviceLayout
from benchmarks.storage.reserve import ReserveWatch, reserve_bytes

#: The span a user may choose from, and what is usual, in seconds.
MIN_S, USUAL_S, MAX_S = 30.0, 50.0, 60.0
#: A probe that takes this many times its time is ended.
_PATIENCE = 4.0
_MIN_PATIENCE_S = 60.0
MIB = 1024 * 1024
#: Far beyond the cache of a disk or SSD controller, and written in seconds.
MAX_FILE = 1024 * MIB
MIN_FILE = 64 * MIB
#: Less than this written in the time for it, and random requests would all fall close together.
_MIN_USEFUL = 16 * MIB
#: The folders of probes in our folder on a device.
PROBES = "probe-*"


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
    TIMED_OUT, DISK_FULL or LOST. Leaves no file behind, however it ends.
    """
    began, date = time.monotonic(), datetime.now(UTC)
    deadline = began + (deadline_s or max(_MIN_PATIENCE_S, _PATIENCE * seconds))
    program, version = find_fio()
    with ExitStack() as stack:
        watch = stack.enter_context(ReserveWatch([device.path], should_stop))
        folder, file = stack.enter_context(probe_file(device.path))
        size = file_size(device)
        file.truncate(size)
        fio = Fio(program, folder, file, deadline, watch.should_stop, resource_limits)
        engine, direct_missing = _choose_engine(fio, size)
        if direct_missing:  # what goes through the page cache may take an eighth of the memory
            size = min(size, max(MIN_FILE, psutil.virtual_memory().total // 8 // MIB * MIB))
        jobs = plan_jobs(seconds, direct=not direct_missing)
        tracing = stack.enter_context(tracer(device.block_device))
        splitter = Splitter(device.block_device, tracing)
        total_s, done_s, used = sum(job.seconds for job in jobs), 0.0, size
        results: list[JobResult] = []
        for job in jobs:
            progress(done_s / total_s, job.name)
            results.append(splitter.measure(job, partial(fio.run, job, engine, used)))
            done_s += job.seconds
            if job.purpose is Purpose.FILL:
                used = _used_bytes(results[0], size)
        progress(1.0, "")
    return ProbeResult(
        date=date,
        seconds=time.monotonic() - began,
        fio_version=version,
        engine=engine,
        device=device,
        file_bytes=used,
        direct_missing=direct_missing,
        tracing_missing=tracing if isinstance(tracing, str) else "",
        jobs=tuple(results),
        notes=tuple(_notes(device, used, direct_missing)),
        emulated=resource_limits.label if resource_limits else "",
    )


@contextlib.contextmanager
def probe_file(directory: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Make a folder `oltp-advisor/probe-<random>` below `directory`, and a file in it.

    The file has no name when its first byte is written: when its last descriptor is closed, by
    whatever death, the file system frees it. What stays behind goes with the next probe or sweep.
    """
    root = DeviceLayout(directory).root
    with ExitStack() as stack:
        try:
            make_ours(root)
            sweep_folders(root, PROBES)
            folder = root / f"probe-{secrets.token_hex(4)}"
            stack.enter_context(held_folder(folder))
        except OSError as error:
            raise DeviceUnusable(f"{root}: cannot be written to: {error.strerror}") from error
        check_usable(folder, 0)
        file = stack.enter_context(tempfile.TemporaryFile(dir=folder))
        if (user := server_user()) is not None:  # whom fio runs as
            os.fchown(file.fileno(), user.uid, user.gid)
        yield folder, file


def file_size(device: DeviceIdentity) -> int:
    """Return how large the probe's file may be, in bytes; DeviceUnusable if that is too little.

    At most a quarter of the free space beside the reserve; on tmpfs, where the file takes memory,
    a sixteenth of what is available.
    """
    bounds = [MAX_FILE, (device.free_bytes - reserve_bytes(device.total_bytes)) // 4]
    if DeviceKind.TMPFS in (device.kind, device.discovered_kind):
        bounds.append(psutil.virtual_memory().available // 16)
    size = min(bounds) // MIB * MIB
    if size < MIN_FILE:
        raise DeviceUnusable(
            f"{device.path}: too little room to probe it: the file could have "
            f"{human_bytes(size)}, {human_bytes(MIN_FILE)} are needed"
        )
    return size


def _choose_engine(fio: Fio, size: int) -> tuple[str, str]:
    """Return the first of fio's engines that writes around the page cache here, or why none does.

    Each is tried for a moment: kernels, containers and file systems forbid them in many ways.
    """
    if supports_direct_io(fio.folder) is False:
        return "psync", "the file system does not support direct I/O (O_DIRECT)"
    trial = replace(plan_jobs(0, direct=True)[0], seconds=MIN_JOB_S)
    for engine in ENGINES:
        if fio.works(trial, engine, size):
            return engine, ""
    return "psync", f"direct I/O failed with each of fio's engines {', '.join(ENGINES)}"


def _used_bytes(filled: JobResult, size: int) -> int:
    """Return how much of the file was written, in whole MiB: the rest has no blocks to read."""
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
    has_heads = DeviceKind.HDD in (device.kind, *(member.kind for member in device.members))
    if has_heads and used * 20 < device.total_bytes:
        notes.append(
            f"The file takes {human_bytes(used)} of {human_bytes(device.total_bytes)}: heads move "
            "less within it than within a large database."
        )
    return notes
