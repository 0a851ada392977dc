"""The host's processors, and counters of its trouble: swapping, heat, suspension."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import psutil

from benchmarks.host.files import read_text

PROC = Path("/proc")
SYS = Path("/sys")


@dataclass(frozen=True, slots=True)
class HostCounters:
    """Counters of the host since boot; None if the host does not report one.

    `swap_bytes` went to and came from swap.
    `throttled_s` has, for each CPU by its name, the time in which it was throttled for its heat.
    `asleep_s` is the time in which the machine was suspended.
    """

    swap_bytes: int | None = None
    throttled_s: Mapping[str, float] | None = None
    asleep_s: float | None = None


def read_host(proc_root: Path = PROC, sys_root: Path = SYS) -> HostCounters:
    """Read all counters. Source: /proc/vmstat, thermal_throttle in /sys."""
    pages = re.findall(r"^pswp(?:in|out) (\d+)$", read_text(proc_root / "vmstat"), re.MULTILINE)
    heat = (sys_root / "devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/*_total_time_ms")
    throttled_ms = {f"{path.parts[-3]}/{path.name}": read_text(path) for path in heat}
    return HostCounters(
        swap_bytes=sum(map(int, pages)) * resource.getpagesize() if pages else None,
        throttled_s={cpu: int(ms) / 1000 for cpu, ms in throttled_ms.items() if ms.isdigit()}
        or None,
        asleep_s=time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic(),
    )


def logical_cpus() -> int:
    """Return the number of logical CPUs online, over which the host's CPU times are summed."""
    return psutil.cpu_count(logical=True) or 1


def cpu_frequency_hz(cpuinfo: Path = PROC / "cpuinfo") -> float | None:
    """Return the mean clock rate of all CPUs now, in Hz; None if not reported (many ARM guests).

    Idle CPUs count with the low rate they are parked at, so read it under load. A virtual machine
    mostly shows the nominal rate whatever the real one is.
    """
    try:
        # Per CPU, because psutil's own mean counts switched-off CPUs as running at 0 MHz.
        rates = [cpu.current for cpu in psutil.cpu_freq(percpu=True) if cpu.current > 0]
    except (AttributeError, NotImplementedError, OSError):
        rates = []  # cpufreq is there and unreadable, which psutil answers in all three ways
    if not rates:
        lines = r"^(?:cpu MHz|clock)\s*:\s*([0-9.]+)"  # x86, POWER
        found = re.findall(lines, read_text(cpuinfo), re.MULTILINE)
        rates = [float(rate) for rate in found if float(rate) > 0]
    return fmean(rates) * 1e6 if rates else None
