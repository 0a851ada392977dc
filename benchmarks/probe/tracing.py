"""The block layer's tracepoints, read through tracefs: when a request was dispatched and done.

They are what blktrace ("D" and "C") and bpftrace show, and what SYSTOR 2015 measured with; no
program is needed to read them, only root, tracefs and a kernel that has them. See the kernel's
Documentation/trace/events.rst and ftrace.rst (instances).
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.host.files import read_text
from benchmarks.probe.jobs import Job
from benchmarks.processes.identity import ProcessId, this_process

#: Where tracefs is mounted; the second is where older kernels show it.
PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_EVENTS = ("block_rq_issue", "block_rq_complete")
_PREFIX = "oltp-advisor-"
_LINE = re.compile(
    r"(?P<t>\d+\.\d+): block_rq_(?P<event>issue|complete): (?P<device>\d+,\d+) (?P<flags>\w+)"
    r" (?:\d+ )?\(.*?\) (?P<sector>\d+) \+ (?P<sectors>\d+)"
)


class Tracer:
    """A trace buffer of our own beside whatever else is traced on this host."""

    def __init__(self, buffer: Path, device: str) -> None:
        self._buffer = buffer
        self._device = device
        major, _, minor = device.partition(":")
        kernel_number = (int(major) << 20) | int(minor)
        for event in _EVENTS:
            (buffer / "events/block" / event / "filter").write_text(f"dev == {kernel_number}")

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Trace the device inside the block, from an empty buffer."""
        (self._buffer / "trace").write_text("")
        self._switch("1")
        try:
            yield
        finally:
            self._switch("0")

    def dispatch_to_completion_us(self, job: Job) -> float | None:
        """Mean time of the job's requests in driver and device; None where none was seen."""
        times = dispatch_times((self._buffer / "trace").read_text(), self._device, job)
        return sum(times) / len(times) if times else None

    def _switch(self, on: str) -> None:
        for event in _EVENTS:
            (self._buffer / "events/block" / event / "enable").write_text(on)


@contextlib.contextmanager
def tracer(block_device: str | None, sys: Path = Path("/sys")) -> Iterator[Tracer | str]:
    """A tracer for one disk, or in a sentence why there can be none."""
    made = _prepare(block_device, sys)
    if isinstance(made, str):
        yield made
        return
    buffer, device = made
    try:
        try:
            ready: Tracer | str = Tracer(buffer, device)
        except OSError as error:
            ready = f"The block tracepoints cannot be set up: {error.strerror}."
        yield ready
    finally:
        with contextlib.suppress(OSError):
            buffer.rmdir()


def dispatch_times(trace: str, device: str, job: Job) -> list[float]:
    """Microseconds from dispatch to completion of each request that is of the job's kind.

    `trace` is the text of a trace file, `device` "major:minor". Requests of another size or
    direction, and read-ahead, are someone else's.
    """
    sectors, direction = str(job.block_bytes // 512), "R" if job.pattern.reads else "W"
    dispatched: dict[str, float] = {}
    times = []
    for line in _LINE.finditer(trace):
        if line["device"] != device.replace(":", ",") or line["sectors"] != sectors:
            continue
        if not line["flags"].startswith(direction) or "A" in line["flags"]:
            continue
        if line["event"] == "issue":
            dispatched[line["sector"]] = float(line["t"])
        elif (start := dispatched.pop(line["sector"], None)) is not None:
            times.append((float(line["t"]) - start) * 1e6)
    return times


def _prepare(block_device: str | None, sys: Path) -> tuple[Path, str] | str:
    """Our trace buffer and the disk's number, or why there is none."""
    if block_device is None:
        return "There is no block device to trace."
    device = read_text(sys / "class/block" / block_device.replace("/", "!") / "dev")
    if not device:
        return f"{block_device} is not in /sys."
    if os.geteuid() != 0:
        return "Reading the kernel's block tracepoints (as blktrace and bpftrace do) takes root."
    tracing = next((place for place in PLACES if (place / "instances").is_dir()), None)
    if tracing is None:
        return (
            "tracefs is not mounted, so the kernel's block tracepoints (those of blktrace and "
            "bpftrace) cannot be read: mount -t tracefs tracefs /sys/kernel/tracing"
        )
    if not all((tracing / "events/block" / event).is_dir() for event in _EVENTS):
        return "This kernel has no block tracepoints (CONFIG_BLK_DEV_IO_TRACE)."
    _sweep(tracing / "instances")
    buffer = tracing / "instances" / f"{_PREFIX}{this_process().as_text()}"
    try:
        buffer.mkdir()
    except OSError as error:
        return f"A trace buffer cannot be made: {error.strerror}."
    return buffer, device


def _sweep(instances: Path) -> None:
    """Remove the buffers of probes that were killed."""
    for buffer in instances.glob(f"{_PREFIX}*"):
        owner = ProcessId.from_text(buffer.name.removeprefix(_PREFIX))
        if owner is not None and owner.is_dead():
            with contextlib.suppress(OSError):  # in use after all
                buffer.rmdir()
