"""The fingerprint holds what a result depends on, and nothing that changes by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measurement.fingerprint import (
    OF_THE_HOST,
    comparability_key,
    fact_name,
    host_fingerprint,
    load_host_facts,
)
from benchmarks.storage.identify import identify_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind

DATA = DeviceIdentity(
    path=Path("/srv/data"),
    kind=DeviceKind.NVME,
    block_device="nvme0n1",
    model="SAMSUNG PM1725",
    scheduler="none",
    file_system="xfs",
    mount_options="rw,noatime,inode64",
    total_bytes=10**12,
    free_bytes=5 * 10**11,
    serial="eui.0025385b21404121",
)
X86 = """processor\t: 0
model name\t: Intel(R) Xeon(R) CPU E7-4850 v3 @ 2.20GHz
cpu MHz\t\t: {mhz}
flags\t\t: fpu vme sse2{flags}
"""
ARM = "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"


class Host:
    """A made-up /proc and /sys."""

    def __init__(self, root: Path) -> None:
        self.proc = root / "proc"
        self.sys = root / "sys"
        self.write("proc/cpuinfo", X86.format(mhz="2200.000", flags=""))
        self.write("proc/meminfo", "MemTotal:       130023424 kB\nMemFree:  77 kB\n")
        self.write("proc/sys/kernel/osrelease", "6.1.0-25-amd64\n")

    def write(self, name: str, text: str) -> None:
        file = self.proc.parent / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def fingerprint(
        self, data: DeviceIdentity = DATA, log: DeviceIdentity | None = None
    ) -> dict[str, str]:
        return host_fingerprint(data, log, proc_root=self.proc, sys_root=self.sys)

    def key(self, data: DeviceIdentity = DATA, log: DeviceIdentity | None = None) -> str:
        return key_of(self.fingerprint(data, log))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def key_of(fingerprint: dict[str, str], **other: Any) -> str:
    parts: dict[str, Any] = {
        "server_digest": "ab" * 32,
        "driver_name": "tpcc-mysql",
        "driver_version": "1ec1c5e",
        "workload": "tpcc",
        "dataset_key": "mysql-9.7.4-w10-p16384",
        "log_bin": True,
        "applied": {},
    }
    return comparability_key(fingerprint, **parts | other)


def test_the_fingerprint_names_the_host_and_its_device(host: Host) -> None:
    for cpu in (0, 1):
        host.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "performance\n")
    facts = host.fingerprint()
    assert (
        facts.items()
        >= {
            "cpu_model": "Intel(R) Xeon(R) CPU E7-4850 v3 @ 2.20GHz",
            "memory_bytes": str(130023424 * 1024),
            "kernel": "6.1.0-25-amd64",
            "cpu_governor": "performance",
            "virtualisation": "none",
            "data_kind": "nvme",
            "data_serial": "eui.0025385b21404121",
            "data_model": "SAMSUNG PM1725",
            "data_scheduler": "none",
            "data_file_system": "xfs",
            "data_mount_options": "inode64,noatime,rw",
        }.items()
    )
    assert not [name for name in facts if name.startswith("log_")]


def test_facts_are_called_in_words(host: Host) -> None:
    facts = host.fingerprint(DATA, DATA) | load_host_facts()
    names = {key: fact_name(key) for key in facts}
    assert not [name for name in names.values() if "_" in name]
    assert len(set(names.values())) == len(facts)
    assert names["memory_bytes"] == "memory"
    assert names["data_scheduler"] == "data device: I/O scheduler"
    assert names["load_cpu_model"] == "load host: CPU model"


def test_a_log_device_of_its_own_is_in_the_fingerprint(host: Host) -> None:
    log = replace(DATA, serial="naa.5000c500", kind=DeviceKind.HDD, model="ST600MP0005")
    facts = host.fingerprint(DATA, log)
    assert (facts["log_serial"], facts["log_kind"]) == ("naa.5000c500", "hdd")
    assert facts["log_model"] == "ST600MP0005"
    assert host.key(DATA, log) != host.key(DATA)


@pytest.mark.parametrize(
    ("vendor", "expected"), [("QEMU", "QEMU Standard PC"), (None, "hypervisor")]
)
def test_a_virtual_machine_is_known_as_one(host: Host, vendor: str | None, expected: str) -> None:
    host.write("proc/cpuinfo", X86.format(mhz="2200", flags=" hypervisor"))
    if vendor is not None:
        host.write("sys/class/dmi/id/sys_vendor", f"{vendor}\n")
        host.write("sys/class/dmi/id/product_name", "Standard PC\n")
    assert host.fingerprint()["virtualisation"] == expected


def test_what_the_host_does_not_report_is_unknown_and_not_empty(host: Host) -> None:
    host.write("proc/cpuinfo", ARM)
    host.write("proc/meminfo", "")
    tmpfs = replace(
        DATA, kind=DeviceKind.TMPFS, serial="", model="", scheduler="", file_system="tmpfs"
    )
    facts = host.fingerprint(tmpfs)
    assert facts["cpu_model"] == "ARM implementer 0x41 part 0xd0c"
    assert (facts["memory_limit"], facts["cpu_limit"]) == ("none", "none")
    unknown = {name for name, text in facts.items() if text == "unknown"}
    assert unknown >= {"memory_bytes", "cpu_governor", "transparent_hugepage", "virtualisation"}
    assert unknown >= {"data_serial", "data_model"}
    assert all(facts.values())


def test_the_key_stays_when_only_volatile_things_change(host: Host) -> None:
    before = host.key()
    host.write("proc/cpuinfo", X86.format(mhz="800.125", flags=""))
    host.write("proc/meminfo", "MemTotal:       130023400 kB\nMemFree:  9999999 kB\n")
    host.write("proc/loadavg", "63.00 20.00 5.00 9/999 12345\n")
    fuller = replace(
        DATA,
        free_bytes=1,
        path=Path("/srv/data/elsewhere"),
        mount_options="noatime,rw,inode64",
        block_device="nvme1n1",
    )
    assert host.key(fuller) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("proc/sys/kernel/osrelease", "6.1.0-26-amd64\n"),
        ("proc/cpuinfo", ARM),
        ("proc/meminfo", "MemTotal:       65011712 kB\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/devices/system/cpu/cpufreq/boost", "0\n"),
        ("sys/devices/system/cpu/smt/control", "off\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("proc/sys/vm/swappiness", "1\n"),
    ],
    ids=[
        *("kernel", "cpu", "memory", "governor", "turbo", "boost"),
        *("smt", "clock source", "huge pages", "swappiness"),
    ],
)
def test_another_host_has_another_key(host: Host, file: str, text: str) -> None:
    before = host.key()
    host.write(file, text)
    assert host.key() != before


def test_the_limits_of_a_control_group_and_of_those_above_it_count(host: Host) -> None:
    """How limits are read is tested beside `benchmarks.host.cgroups`."""
    tree = host.proc.parent / "cgroup"
    host.write("proc/self/mountinfo", f"31 23 0:26 / {tree} rw - cgroup2 none rw\n")
    host.write("cgroup/cgroup.controllers", "cpu memory\n")
    host.write("proc/self/cgroup", "0::/system.slice/advisor.service\n")
    before = host.key()
    host.write("cgroup/system.slice/advisor.service/memory.max", "max\n")
    host.write("cgroup/system.slice/advisor.service/cpu.max", "max 100000\n")
    assert host.key() == before
    host.write("cgroup/system.slice/memory.max", f"{4 * 2**30}\n")
    host.write("cgroup/system.slice/advisor.service/cpu.max", "150000 100000\n")
    facts = host.fingerprint()
    assert (facts["memory_limit"], facts["cpu_limit"]) == (str(4 * 2**30), "1.50")


def test_the_cpu_limit_of_control_groups_of_the_first_kind_counts(host: Host) -> None:
    tree = host.proc.parent / "cgroup"
    host.write("proc/self/mountinfo", f"32 23 0:27 / {tree}/cpu rw - cgroup none rw,cpu\n")
    # a container's view: the path is the host's, what is mounted is the container's own
    host.write("proc/self/cgroup", "3:cpu,cpuacct:/docker/0a1b\n0::/\n")
    host.write("cgroup/cpu/cpu.cfs_period_us", "100000\n")
    for quota_us, limit in (("50000", "0.50"), ("-1", "none")):
        host.write("cgroup/cpu/cpu.cfs_quota_us", f"{quota_us}\n")
        assert host.fingerprint()["cpu_limit"] == limit


@pytest.mark.parametrize(
    "device",
    [
        replace(DATA, kind=DeviceKind.RAID),
        replace(DATA, serial="eui.0025385b21404122"),
        replace(DATA, model="SAMSUNG XS1715"),
        replace(DATA, scheduler="mq-deadline"),
        replace(DATA, file_system="ext4"),
        replace(DATA, mount_options="rw,inode64"),
    ],
    ids=["kind", "serial", "model", "scheduler", "file system", "mount options"],
)
def test_another_device_has_another_key(host: Host, device: DeviceIdentity) -> None:
    assert host.key(device) != host.key()
    assert host.key(DATA, device) != host.key(DATA, DATA)


def test_another_server_driver_dataset_or_log_has_another_key(host: Host) -> None:
    facts = host.fingerprint()
    others: list[dict[str, Any]] = [
        {"server_digest": "cd" * 32},
        {"driver_name": "sysbench"},
        {"driver_version": "2"},
        {"workload": "oltp_read_only"},
        {"dataset_key": "mysql-9.7.4-w20-p16384"},
        {"log_bin": False},
        {"applied": {"wait_timeout": "60"}},
    ]
    keys = [key_of(facts), *(key_of(facts, **other) for other in others)]
    assert len(set(keys)) == len(keys)
    assert key_of(dict(reversed(facts.items()))) == keys[0], "the order of facts is nothing"


def test_this_machine_has_a_fingerprint_that_stays(tmp_path: Path) -> None:
    first = host_fingerprint(identify_device(tmp_path), None)
    (tmp_path / "filler").write_bytes(b"x" * 100_000)
    assert host_fingerprint(identify_device(tmp_path), None) == first
    about_the_host = {name for name in first if not name.startswith("data_")}
    assert about_the_host == OF_THE_HOST, "what is compared across hosts goes by these names"
    assert first["cpu_model"] != "unknown"
    assert int(first["memory_bytes"]) > 10**8
