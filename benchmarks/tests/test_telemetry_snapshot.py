"""The real counters, on real processes and a real disk."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchmarks.storage.identify import identify_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind
from benchmarks.telemetry.host import logical_cpus
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.snapshot import SnapshotReader
from benchmarks.telemetry.usage import usage_between

NOWHERE = DeviceIdentity(Path("/nowhere"), DeviceKind.OTHER, None, "", "", "", "", 0, 0)
BURNED_S = 0.4


@pytest.fixture
def disk(tmp_path: Path) -> DeviceIdentity:
    identity = identify_device(tmp_path)
    if identity.block_device is None:
        pytest.skip(f"{tmp_path} has no known block device ({identity.file_system})")
    return identity


@pytest.mark.long
def test_the_cpu_seconds_of_a_process_are_measured() -> None:
    with Sampler.of(os.getpid(), NOWHERE) as sampler:
        start = sampler.mark(MEASURE_START)
        burned = time.process_time() + BURNED_S
        while time.process_time() < burned:
            pass
        end = sampler.mark(MEASURE_END)
    assert start.server_cpu_s is not None
    assert end.server_cpu_s is not None
    assert end.server_cpu_s - start.server_cpu_s == pytest.approx(BURNED_S, abs=0.1)
    assert start.server_rss_bytes is not None
    assert start.server_rss_bytes > 1_000_000
    # the host was at least as busy as its one process, and has no more CPUs than it has
    busy_s = (end.cpu_user_s + end.cpu_sys_s) - (start.cpu_user_s + start.cpu_sys_s)
    assert busy_s > BURNED_S - 0.1
    assert end.cpu_total_s - start.cpu_total_s == pytest.approx(
        (end.t - start.t) * logical_cpus(), rel=0.1, abs=0.1
    )


def test_a_synced_write_shows_in_the_disks_counters(disk: DeviceIdentity, tmp_path: Path) -> None:
    size = 8 * 1024 * 1024
    reader = SnapshotReader(os.getpid(), disk, None)
    start = reader.read()
    with (tmp_path / "written").open("wb") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
    end = reader.read()
    usage = usage_between(start, replace(end, t=start.t + 1.0, cpu_total_s=start.cpu_total_s + 1))
    assert usage.data_write_mb_s is not None
    assert usage.data_write_iops is not None
    assert usage.data_write_mb_s >= size / 1e6
    assert usage.data_write_iops >= 1
    assert start.device_write_bytes is not None
    assert end.device_write_bytes is not None
    assert end.device_write_bytes - start.device_write_bytes >= size
    # this process is the one that wrote
    assert start.server_write_bytes is not None
    assert end.server_write_bytes is not None
    assert end.server_write_bytes - start.server_write_bytes >= size


def cpu_times(**extra: float) -> SimpleNamespace:
    times = dict.fromkeys(("user", "nice", "system", "idle", "iowait"), 0.0)
    times |= dict.fromkeys(("irq", "softirq", "steal", "guest", "guest_nice"), 0.0)
    return SimpleNamespace(**(times | extra))


def test_the_hosts_cpu_time_is_sorted_as_vmstat_does(monkeypatch: pytest.MonkeyPatch) -> None:
    times = cpu_times(
        user=100, nice=20, system=30, idle=1000, iowait=7, irq=4, softirq=5, steal=6, guest=90
    )
    monkeypatch.setattr(psutil, "cpu_times", lambda: times)
    snapshot = SnapshotReader(os.getpid(), NOWHERE, None).read()
    assert snapshot.cpu_user_s == 120
    assert snapshot.cpu_sys_s == 39
    assert snapshot.cpu_iowait_s == 7
    assert snapshot.cpu_steal_s == 6
    assert snapshot.cpu_total_s == 1172  # guest time is in user already


def test_counters_are_read_again_when_the_host_stood_still_in_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = [0.2]

    def held_up() -> SimpleNamespace:
        time.sleep(waits.pop() if waits else 0)
        return cpu_times(user=time.monotonic())

    monkeypatch.setattr(psutil, "cpu_times", held_up)
    snapshot = SnapshotReader(os.getpid(), NOWHERE, None).read()
    assert snapshot.cpu_user_s - snapshot.t < 0.1


def test_only_marks_carry_the_clock_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_freq", lambda percpu: [SimpleNamespace(current=2600.0)])
    reader = SnapshotReader(os.getpid(), NOWHERE, None)
    assert reader.read(marked=True).cpu_hz == 2.6e9
    assert reader.read().cpu_hz is None


def fake_disks(monkeypatch: pytest.MonkeyPatch, **written: int) -> None:
    """The kernel's counters for made-up disks."""

    def counters(perdisk: bool, nowrap: bool) -> dict[str, SimpleNamespace]:
        return {
            name: SimpleNamespace(
                read_count=1, write_count=2, read_bytes=3, write_bytes=count, busy_time=5
            )
            for name, count in written.items()
        }

    monkeypatch.setattr(psutil, "disk_io_counters", counters)


def on(block_device: str | None) -> DeviceIdentity:
    return replace(NOWHERE, block_device=block_device)


@pytest.mark.parametrize(
    ("data", "log", "total", "log_seen"),
    [
        (on("sda"), None, 100, False),
        (on("sda"), on("sda"), 100, False),  # one disk: counted once, not separately
        (on("sda"), on("sdb"), 130, True),
        (on("sda"), on(None), None, False),
        (on(None), on("sdb"), None, True),
        (on(None), None, None, False),
        (on("sda"), on("gone"), None, False),
    ],
)
def test_written_bytes_sum_distinct_devices_or_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
    data: DeviceIdentity,
    log: DeviceIdentity | None,
    total: int | None,
    log_seen: bool,
) -> None:
    fake_disks(monkeypatch, sda=100, sdb=30, sdc=7)
    snapshot = SnapshotReader(os.getpid(), data, log).read()
    assert snapshot.device_write_bytes == total
    assert (snapshot.data is not None) == (data.block_device is not None)
    assert (snapshot.log is not None) == log_seen


def test_a_dead_process_stops_its_fields_and_nothing_else() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        reader = SnapshotReader(process.pid)
        assert reader.read().server_cpu_s is not None
        process.kill()
    gone = reader.read()
    assert (gone.server_cpu_s, gone.server_write_bytes, gone.server_rss_bytes) == (None,) * 3
    assert gone.cpu_total_s > 0


def test_a_process_that_never_was_is_gone_from_the_start() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert SnapshotReader(process.pid, NOWHERE, None).read().server_cpu_s is None


def test_one_sample_a_second_costs_next_to_nothing(disk: DeviceIdentity) -> None:
    reader = SnapshotReader(os.getpid(), disk, None)
    began = time.thread_time()
    for _ in range(200):
        reader.read()
    # 1 % of one CPU at one a second; seen: 0.13 ms
    assert (time.thread_time() - began) / 200 < 0.010
