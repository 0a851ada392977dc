"""The host's processors: how many, and how fast at this moment."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean

import psutil

CPUINFO = Path("/proc/cpuinfo")


def logical_cpus() -> int:
    """Logical CPUs that are online, the ones the host's CPU times are summed over."""
    return psutil.cpu_count(logical=True) or 1


def cpu_frequency_hz(cpuinfo: Path = CPUINFO) -> float | None:
    """Mean clock rate of all CPUs now, in Hz; None if not reported (many ARM guests).

    Idle CPUs count with the low rate they are parked at, so read it under load. A virtual machine
    mostly shows the nominal rate whatever the real one is.
    """
    try:
        # Per CPU, because psutil's own mean counts switched-off CPUs as running at 0 MHz.
        rates = [cpu.current for cpu in psutil.cpu_freq(percpu=True) if cpu.current > 0]
    except (AttributeError, NotImplementedError, OSError):
        rates = []  # cpufreq is there and unreadable, which psutil answers in all three ways
    return fmean(rates) * 1e6 if rates else _from_cpuinfo(cpuinfo)


def _from_cpuinfo(cpuinfo: Path) -> float | None:
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return None
    found = re.findall(r"^(?:cpu MHz|clock)\s*:\s*([0-9.]+)", text, re.MULTILINE)  # x86, POWER
    rates = [float(rate) for rate in found if float(rate) > 0]
    return fmean(rates) * 1e6 if rates else None
