"""Facts on which a measurement depends besides the config: comparable runs agree in all."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from benchmarks.host.files import read_text
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.telemetry.cpu import logical_cpus
from benchmarks.telemetry.tunables import host_tunables

PROC = Path("/proc")
SYS = Path("/sys")
UNKNOWN = "unknown"

#: Names of facts that are about the host itself, not its devices nor its driver.
OF_THE_HOST = frozenset(
    (
        *("cpu_model", "logical_cpus", "memory_bytes", "kernel", "machine", "virtualisation"),
        *("cpu_governor", "cpu_boost", "smt", "clock_source", "transparent_hugepage"),
        *("swappiness", "usable_cpus", "memory_limit", "cpu_limit"),
    )
)

# The kernel's own share varies by a few KiB between boots, and a balloon driver's by a few MiB;
# it is still the same machine.
MEMORY_STEP = 256 * 1024 * 1024

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
    """Name -> text of the facts that stay the same between runs on an unchanged host.

    Keys: cpu_model, logical_cpus, memory_bytes, kernel, machine, virtualisation, those of
    `host_tunables` and, with the prefixes data_ and log_, kind, serial, model, transport,
    write_cache, raid, scheduler, file_system, mount_options. What the host does not report is
    "unknown". `log` is None if the logs are with the data; then there are no log_ keys. Free
    space, load and the current clock rate are left out on purpose.
    """
    cpuinfo = read_text(proc_root / "cpuinfo")
    facts = {
        "cpu_model": _cpu_model(cpuinfo),
        "logical_cpus": str(logical_cpus()),
        "memory_bytes": _memory_bytes(read_text(proc_root / "meminfo")),
        "kernel": read_text(proc_root / "sys/kernel/osrelease") or UNKNOWN,
        "machine": platform.machine(),
        "virtualisation": _virtualisation(cpuinfo, sys_root),
        **host_tunables(proc_root, sys_root),
    }
    facts.update(_device_facts("data", data))
    if log is not None:
        facts.update(_device_facts("log", log))
    return facts


def fact_name(key: str) -> str:
    """Return a fact's name for people: "data_raid" -> "data device: RAID level"."""
    for prefix, what in _WHOSE.items():
        if key.startswith(prefix):
            return f"{what}: {fact_name(key.removeprefix(prefix))}"
    return _NAMES.get(key, key.replace("_", " ").replace("cpu", "CPU"))


def load_host_facts(*, proc_root: Path = PROC, sys_root: Path = SYS) -> dict[str, str]:
    """The facts of a load host, in the fingerprints of the runs that it drives."""
    cpuinfo = read_text(proc_root / "cpuinfo")
    return {
        "load_cpu_model": _cpu_model(cpuinfo),
        "load_logical_cpus": str(logical_cpus()),
        "load_kernel": read_text(proc_root / "sys/kernel/osrelease") or UNKNOWN,
        "load_virtualisation": _virtualisation(cpuinfo, sys_root),
    }


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
    """sha256 (hex) of all that must agree if two runs are to be ranked together.

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
    """The fingerprint without what varies slightly between readings; memory in steps."""
    facts = dict(fingerprint)
    if facts.get("memory_bytes", "").isdigit():
        facts["memory_bytes"] = str(round(int(facts["memory_bytes"]) / MEMORY_STEP))
    return facts


def _device_facts(prefix: str, device: DeviceIdentity) -> dict[str, str]:
    return {
        # A user who corrects the kind has not changed the device.
        f"{prefix}_kind": (device.discovered_kind or device.kind).value,
        # Not the kernel's name of the disk, which may be another after each boot.
        f"{prefix}_serial": device.unique_name or UNKNOWN,
        f"{prefix}_model": device.model or UNKNOWN,
        f"{prefix}_transport": device.transport.value,
        f"{prefix}_write_cache": device.write_cache or UNKNOWN,
        f"{prefix}_raid": device.raid_level or "none",
        f"{prefix}_scheduler": device.scheduler or UNKNOWN,
        f"{prefix}_file_system": device.file_system or UNKNOWN,
        # The order in which options were given does not matter to the file system.
        f"{prefix}_mount_options": ",".join(sorted(device.mount_options.split(","))),
    }


def _cpu_model(cpuinfo: str) -> str:
    fields = {
        key.strip(): value.strip()
        for key, separator, value in (line.partition(":") for line in cpuinfo.splitlines())
        if separator
    }
    for name in ("model name", "cpu model", "cpu"):  # x86, MIPS, POWER
        if fields.get(name):
            return fields[name]
    if "CPU part" in fields:  # ARM has numbers only
        return f"ARM implementer {fields.get('CPU implementer')} part {fields['CPU part']}"
    return UNKNOWN


def _memory_bytes(meminfo: str) -> str:
    total = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return str(int(total.group(1)) * 1024) if total else UNKNOWN


def _virtualisation(cpuinfo: str, sys_root: Path) -> str:
    """The product name of a virtual machine or "hypervisor"; "none" if the CPU shows none."""
    if not re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        return read_text(sys_root / "hypervisor/type") or (
            "none" if "flags" in cpuinfo else UNKNOWN
        )
    maker = read_text(sys_root / "class/dmi/id/sys_vendor")
    product = read_text(sys_root / "class/dmi/id/product_name")
    return f"{maker} {product}".strip() or "hypervisor"
