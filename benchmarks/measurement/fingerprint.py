"""Facts on which a measurement depends besides the config: comparable runs agree in all."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from benchmarks.host.cgroups import cpu_limit, memory_limits
from benchmarks.host.files import read_text
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.telemetry.host import PROC, SYS, logical_cpus

UNKNOWN = "unknown"
NO_LIMIT = "none"

# The kernel's own share varies by a few KiB between boots, and a balloon driver's by a few MiB;
# it is still the same machine.
MEMORY_STEP = 256 * 1024 * 1024


def _cpu_model(proc: Path, _: Path) -> str:
    fields = {
        key.strip(): value.strip()
        for key, separator, value in (
            line.partition(":") for line in read_text(proc / "cpuinfo").splitlines()
        )
        if separator
    }
    for name in ("model name", "cpu model", "cpu"):  # x86, MIPS, POWER
        if fields.get(name):
            return fields[name]
    if "CPU part" in fields:  # ARM has numbers only
        return f"ARM implementer {fields.get('CPU implementer')} part {fields['CPU part']}"
    return ""


def _memory_bytes(proc: Path, _: Path) -> str:
    total = re.search(r"^MemTotal:\s+(\d+) kB", read_text(proc / "meminfo"), re.MULTILINE)
    return str(int(total[1]) * 1024) if total else ""


def _virtualisation(proc: Path, sys: Path) -> str:
    """Return a virtual machine's product name or "hypervisor"; "none" if the CPU shows none."""
    cpuinfo = read_text(proc / "cpuinfo")
    if not re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        return read_text(sys / "hypervisor/type") or ("none" if "flags" in cpuinfo else "")
    maker = read_text(sys / "class/dmi/id/sys_vendor")
    product = read_text(sys / "class/dmi/id/product_name")
    return f"{maker} {product}".strip() or "hypervisor"


def _governors(_: Path, sys: Path) -> str:
    files = (sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return ",".join(sorted({read_text(file) for file in files} - {""}))


def _boost(_: Path, sys: Path) -> str:
    """Return whether CPUs may run faster than their nominal rate: "on" or "off"."""
    no_turbo = read_text(sys / "devices/system/cpu/intel_pstate/no_turbo")
    boost = read_text(sys / "devices/system/cpu/cpufreq/boost")
    return {"0": "on", "1": "off"}.get(no_turbo) or {"0": "off", "1": "on"}.get(boost, "")


def _huge_pages(_: Path, sys: Path) -> str:
    """Return the word in brackets of "always [madvise] never"."""
    found = re.search(r"\[(\S+)\]", read_text(sys / "kernel/mm/transparent_hugepage/enabled"))
    return found[1] if found else ""


def _memory_limit(proc: Path, _: Path) -> str:
    limits = [limit for limit, _ in memory_limits(proc)]
    return str(min(limits)) if limits else NO_LIMIT


def _cpu_limit(proc: Path, _: Path) -> str:
    limit = cpu_limit(proc)
    return NO_LIMIT if limit is None else f"{limit:.2f}"


#: Facts about the host itself, read from /proc and /sys; "" if it does not report one. They change
#: when somebody changes them and not by themselves, as free memory and the clock rate do.
_HOST_FACTS: dict[str, Callable[[Path, Path], str]] = {
    "cpu_model": _cpu_model,
    "logical_cpus": lambda *_: str(logical_cpus()),
    "memory_bytes": _memory_bytes,
    "kernel": lambda proc, _: read_text(proc / "sys/kernel/osrelease"),
    "machine": lambda *_: platform.machine(),
    "virtualisation": _virtualisation,
    "cpu_governor": _governors,
    "cpu_boost": _boost,
    "smt": lambda _, sys: read_text(sys / "devices/system/cpu/smt/control"),
    "clock_source": lambda _, sys: read_text(sys / _CLOCK_SOURCE),
    "transparent_hugepage": _huge_pages,
    "swappiness": lambda proc, _: read_text(proc / "sys/vm/swappiness"),
    # By affinity, as taskset and cpusets set it.
    "usable_cpus": lambda *_: str(len(os.sched_getaffinity(0))),
    # Of our control group or one above it: bytes and CPUs.
    "memory_limit": _memory_limit,
    "cpu_limit": _cpu_limit,
}
_CLOCK_SOURCE = "devices/system/clocksource/clocksource0/current_clocksource"
_OF_A_LOAD_HOST = ("cpu_model", "logical_cpus", "kernel", "virtualisation")
#: Names of facts that are about the host itself, not its devices nor its driver.
OF_THE_HOST = frozenset(_HOST_FACTS)

# Whose a fact is, by the beginning of its key.
_WHOSE = {"data_": "data device", "log_": "log device", "load_": "load host"}
# Keys that are no words for people.
_NAMES = {
    "memory_bytes": "memory",
    "machine": "architecture",
    "smt": "hyper-threading (SMT)",
    "transparent_hugepage": "transparent huge pages",
    "clock_source": "clock source",
    "raid": "RAID level",
    "scheduler": "I/O scheduler",
}


def host_fingerprint(
    data: DeviceIdentity,
    log: DeviceIdentity | None,
    *,
    proc_root: Path = PROC,
    sys_root: Path = SYS,
) -> dict[str, str]:
    """Return the facts that stay the same between runs on an unchanged host, name -> text.

    Keys: those of OF_THE_HOST and, with the prefixes data_ and log_, kind, serial, model,
    transport, write_cache, raid, scheduler, file_system, mount_options. What the host does not
    report is "unknown". `log` is None if the logs are with the data; then there are no log_ keys.
    Free space, load and the current clock rate are left out on purpose.
    """
    facts = {name: read(proc_root, sys_root) for name, read in _HOST_FACTS.items()}
    facts |= _device_facts("data", data)
    if log is not None:
        facts |= _device_facts("log", log)
    return {name: text or UNKNOWN for name, text in facts.items()}


def load_host_facts(*, proc_root: Path = PROC, sys_root: Path = SYS) -> dict[str, str]:
    """Return the facts of a load host, in the fingerprints of the runs that it drives."""
    return {
        f"load_{name}": _HOST_FACTS[name](proc_root, sys_root) or UNKNOWN
        for name in _OF_A_LOAD_HOST
    }


def fact_name(key: str) -> str:
    """Return a fact's name for people: "data_raid" -> "data device: RAID level"."""
    for prefix, what in _WHOSE.items():
        if key.startswith(prefix):
            return f"{what}: {fact_name(key.removeprefix(prefix))}"
    return _NAMES.get(key, key.replace("_", " ").replace("cpu", "CPU"))


def comparability_key(
    fingerprint: Mapping[str, str],
    *,
    server_digest: str,
    driver_name: str,
    driver_version: str,
    workload: str,
    dataset_key: str,
    log_bin: bool,
    applied: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return a sha256 (hex) of all that must agree if two runs are to be ranked together.

    `log_bin` is the state read back from the server. `dataset_key` names server, data and page
    size of the golden copy, not its path. `applied` are the options that all runs of a study
    set for the user's sake.
    """
    parts = {
        "host": comparable_facts(fingerprint),
        "server": server_digest,
        "driver": [driver_name, driver_version],
        "workload": workload,
        "dataset": dataset_key,
        "log_bin": log_bin,
        "applied": dict(applied),
    }
    # JSON separates the parts: different sets of facts never give the same text.
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def comparable_facts(fingerprint: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprint without what varies between readings; memory in steps."""
    facts = dict(fingerprint)
    if facts.get("memory_bytes", "").isdigit():
        facts["memory_bytes"] = str(round(int(facts["memory_bytes"]) / MEMORY_STEP))
    return facts


def _device_facts(prefix: str, device: DeviceIdentity) -> dict[str, str]:
    return {
        # A user who corrects the kind has not changed the device.
        f"{prefix}_kind": (device.discovered_kind or device.kind).value,
        # Not the kernel's name of the disk, which may be another after each boot.
        f"{prefix}_serial": device.unique_name,
        f"{prefix}_model": device.model,
        f"{prefix}_transport": device.transport.value,
        f"{prefix}_write_cache": device.write_cache,
        f"{prefix}_raid": device.raid_level or "none",
        f"{prefix}_scheduler": device.scheduler,
        f"{prefix}_file_system": device.file_system,
        # The order in which options were given does not matter to the file system.
        f"{prefix}_mount_options": ",".join(sorted(device.mount_options.split(","))),
    }
