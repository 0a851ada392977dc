"""Counters of the host that show trouble: swapping, waiting, throttling, suspension."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.host.files import read_text

PROC = Path("/proc")
SYS = Path("/sys")

_PAGE_BYTES = resource.getpagesize()


@dataclass(frozen=True, slots=True)
class HostCounters:
    """Counters of the host since boot; None if the host does not report one.

    `swap_bytes` went to and came from swap. `*_wait_s` is pressure stall time (Linux' PSI): CPU
    while some process waited for one, I/O and memory while all that could have worked waited.
    `throttled_s` has, for each CPU by its name, the time in which it was throttled for its heat.
    `asleep_s` is the time in which the machine was suspended.
    """

    swap_bytes: int | None = None
    cpu_wait_s: float | None = None
    io_wait_s: float | None = None
    memory_wait_s: float | None = None
    throttled_s: Mapping[str, float] | None = None
    asleep_s: float | None = None


def read_host(proc_root: Path = PROC, sys_root: Path = SYS) -> HostCounters:
    """All counters now. Source: /proc/vmstat, /proc/pressure, thermal_throttle in /sys."""
    return HostCounters(
        swap_bytes=_swap_bytes(read_text(proc_root / "vmstat")),
        cpu_wait_s=_pressure(proc_root, "cpu", "some"),
        io_wait_s=_pressure(proc_root, "io", "full"),
        memory_wait_s=_pressure(proc_root, "memory", "full"),
        throttled_s=_throttled_s(sys_root),
        asleep_s=time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic(),
    )


def fastest_cpu_hz() -> float | None:
    """Clock rate of the CPU that runs fastest now, in Hz; None if not reported.

    A mean over all CPUs moves with how many of them idle; the fastest one falls when the host is
    throttled or its governor changed.
    """
    try:
        rates = [cpu.current for cpu in psutil.cpu_freq(percpu=True)]
    except (AttributeError, NotImplementedError, OSError):
        return None
    return max(rates) * 1e6 if rates and max(rates) > 0 else None


def _swap_bytes(vmstat: str) -> int | None:
    pages = re.findall(r"^pswp(?:in|out) (\d+)$", vmstat, re.MULTILINE)
    return sum(map(int, pages)) * _PAGE_BYTES if pages else None


def _pressure(proc_root: Path, what: str, share: str) -> float | None:
    """Seconds; the kernel counts microseconds."""
    text = read_text(proc_root / "pressure" / what)
    total = re.search(rf"^{share} .*\btotal=(\d+)", text, re.MULTILINE)
    return int(total[1]) / 1e6 if total else None


def _throttled_s(sys_root: Path) -> dict[str, float] | None:
    counters = (sys_root / "devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/*_total_time_ms")
    known = {f"{path.parts[-3]}/{path.name}": read_text(path) for path in counters}
    return {name: int(ms) / 1000 for name, ms in known.items() if ms.isdigit()} or None
