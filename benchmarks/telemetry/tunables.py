"""Settings of the host that change what is measured: clock, memory pages, swapping, limits."""

from __future__ import annotations

import os
import re
from pathlib import Path

from benchmarks.host.cgroups import cpu_limit, memory_limits
from benchmarks.host.files import read_text

UNKNOWN = "unknown"
NO_LIMIT = "none"


def host_tunables(proc_root: Path, sys_root: Path) -> dict[str, str]:
    """Name -> text; "unknown" if the host does not report it.

    Keys: cpu_governor, cpu_boost, smt, clock_source, transparent_hugepage, swappiness,
    usable_cpus (by affinity, as taskset and cpusets set it), memory_limit (bytes) and cpu_limit
    (CPUs) of our control group or one above it, "none" without. They change when somebody
    changes them and not by themselves; what does (free memory, the clock rate) is not here.
    """
    cpu = sys_root / "devices/system/cpu"
    limits, cpus = [limit for limit, _ in memory_limits(proc_root)], cpu_limit(proc_root)
    return {
        "cpu_governor": _governors(cpu),
        "cpu_boost": _boost(cpu),
        "smt": read_text(cpu / "smt/control") or UNKNOWN,
        "clock_source": read_text(sys_root / _CLOCK_SOURCE) or UNKNOWN,
        "transparent_hugepage": _chosen(
            read_text(sys_root / "kernel/mm/transparent_hugepage/enabled")
        ),
        "swappiness": read_text(proc_root / "sys/vm/swappiness") or UNKNOWN,
        "usable_cpus": str(len(os.sched_getaffinity(0))),
        "memory_limit": str(min(limits)) if limits else NO_LIMIT,
        "cpu_limit": NO_LIMIT if cpus is None else f"{cpus:.2f}",
    }


_CLOCK_SOURCE = "devices/system/clocksource/clocksource0/current_clocksource"


def _governors(cpu: Path) -> str:
    files = cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")
    return ",".join(sorted({read_text(file) for file in files} - {""})) or UNKNOWN


def _boost(cpu: Path) -> str:
    """Whether CPUs may run faster than their nominal rate: "on" or "off"."""
    off = read_text(cpu / "intel_pstate/no_turbo")
    on = read_text(cpu / "cpufreq/boost")
    if off in ("0", "1"):
        return "off" if off == "1" else "on"
    return {"0": "off", "1": "on"}.get(on, UNKNOWN)


def _chosen(text: str) -> str:
    """The one in brackets of "always [madvise] never"."""
    found = re.search(r"\[(\S+)\]", text)
    return found[1] if found else UNKNOWN
