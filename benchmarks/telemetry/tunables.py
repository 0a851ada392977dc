"""Settings of the host that change what is measured: clock, memory pages, swapping, limits."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.storage.host import read_text

UNKNOWN = "unknown"
NO_LIMIT = "none"

# cgroup v1 writes "no limit" as the largest multiple of a page that fits.
_UNLIMITED_BYTES = 1 << 60


def host_tunables(proc_root: Path, sys_root: Path) -> dict[str, str]:
    """Name -> text; "unknown" if the host does not report it.

    Keys: cpu_governor, cpu_boost, smt, clock_source, transparent_hugepage, swappiness,
    usable_cpus (by affinity, as taskset and cpusets set it), memory_limit (bytes) and cpu_limit
    (CPUs) of our control group or one above it, "none" without. They change when somebody
    changes them and not by themselves; what does (free memory, the clock rate) is not here.
    """
    cpu = sys_root / "devices/system/cpu"
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
        "memory_limit": _memory_limit(proc_root),
        "cpu_limit": _cpu_limit(proc_root),
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


def _memory_limit(proc_root: Path) -> str:
    found = []
    for group in _groups("memory", proc_root):
        text = read_text(group / "memory.max") or read_text(group / "memory.limit_in_bytes")
        if text.isdigit() and int(text) < _UNLIMITED_BYTES:
            found.append(int(text))
    return str(min(found)) if found else NO_LIMIT


def _cpu_limit(proc_root: Path) -> str:
    found = []
    for group in _groups("cpu", proc_root):
        text = read_text(group / "cpu.max") or (
            f"{read_text(group / 'cpu.cfs_quota_us')} {read_text(group / 'cpu.cfs_period_us')}"
        )
        quota, _, period = text.partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            found.append(int(quota) / int(period))
    return f"{min(found):.2f}" if found else NO_LIMIT


def _groups(controller: str, proc_root: Path) -> Iterator[Path]:
    """Our control group's directory in each tree that may limit this, and all above it."""
    own = _own_groups(read_text(proc_root / "self/cgroup"))
    for line in read_text(proc_root / "self/mounts").splitlines():
        words = line.split(" ")
        if len(words) < 4:
            continue
        _, mount, file_system, options = words[:4]
        if file_system == "cgroup2":
            path = own.get("", "/")
        elif file_system == "cgroup" and controller in options.split(","):
            path = own.get(controller, "/")
        else:
            continue
        below = Path(path.lstrip("/"))
        # In a container the path may be the host's, of which only the end is mounted: those
        # directories do not exist, and what is mounted is ours.
        yield from (Path(mount) / part for part in (below, *below.parents))


def _own_groups(cgroup: str) -> dict[str, str]:
    """Controller (of v1; "" is v2) -> path of our group."""
    found = {}
    for line in cgroup.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        found.update(dict.fromkeys(controllers.split(","), path))
    return found
