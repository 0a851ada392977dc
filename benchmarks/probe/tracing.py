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

#: Where tracefs is mounted; the second is where older kernels show it.
PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_EVENTS = ("block_rq_issue", "block_rq_complete")
_PREFIX = "oltp-advisor-"
_LINE = re.compile(
    r"(?P<t>\d+\.\d+): block_rq_(?P<event>issue|complete): (?P<device>\d+,\d+) (?P<flags>\w+)"
    r" (?:\d+ )?\(.*?\) (?P<sector>\d+) \+ (?P<sectors>\d+)"
)


class _NotTraced(Exception):
    """Why the tracepoints cannot be read, in a sentence."""


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
def tracer(block_device: str | None) -> Iterator[Tracer | str]:
    """A tracer for one disk, or in a sentence why there can be none."""
    with contextlib.ExitStack() as stack:
        try:
            device, instances = _device_and_instances(block_device)
            _remove_buffers(instances)
            buffer = instances / f"{_PREFIX}{os.getpid()}"
            buffer.mkdir()
            stack.callback(_remove_buffers, instances)
            ready: Tracer | str = Tracer(buffer, device)
        except _NotTraced as why:
            ready = str(why)
        except OSError as error:
            ready = f"The block tracepoints cannot be set up: {error.strerror}."
        yield ready


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


def _device_and_instances(block_device: str | None) -> tuple[str, Path]:
    """The disk's number, and where trace buffers are made. Raises _NotTraced."""
    if block_device is None:
        raise _NotTraced("There is no block device to trace.")
    device = read_text(Path("/sys/class/block") / block_device.replace("/", "!") / "dev")
    if not device:
        raise _NotTraced(f"{block_device} is not in /sys.")
    if os.geteuid() != 0:
        raise _NotTraced(
            "Reading the kernel's block tracepoints (as blktrace and bpftrace do) takes root."
        )
    tracing = next((place for place in PLACES if (place / "instances").is_dir()), None)
    if tracing is None:
        raise _NotTraced(
            "tracefs is not mounted, so the kernel's block tracepoints (those of blktrace and "
            "bpftrace) cannot be read: mount -t tracefs tracefs /sys/kernel/tracing"
        )
    if not all((tracing / "events/block" / event).is_dir() for event in _EVENTS):
        raise _NotTraced("This kernel has no block tracepoints (CONFIG_BLK_DEV_IO_TRACE).")
    return device, tracing / "instances"


def _remove_buffers(instances: Path) -> None:
    """Remove our buffer and those of killed probes: a host runs one probe at a time."""
    for buffer in instances.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # in use after all
            buffer.rmdir()
