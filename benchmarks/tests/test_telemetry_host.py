"""The host's own counters, made up and real."""

from __future__ import annotations

import resource
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from benchmarks.telemetry.host import HostCounters, cpu_frequency_hz, read_host


def test_counters_of_a_made_up_host(tmp_path: Path) -> None:
    assert read_host(tmp_path, tmp_path).swap_bytes is None
    (tmp_path / "vmstat").write_text("pswpin 3\npswpout 4\npswpin_extra 100\n")
    name = "core_throttle_total_time_ms"
    for cpu, milliseconds in (("cpu0", 100), ("cpu1", 2500)):
        folder = tmp_path / "devices/system/cpu" / cpu / "thermal_throttle"
        folder.mkdir(parents=True)
        (folder / name).write_text(f"{milliseconds}\n")
    host = read_host(tmp_path, tmp_path)
    throttled = {f"cpu0/{name}": 0.1, f"cpu1/{name}": 2.5}
    assert host == HostCounters(7 * resource.getpagesize(), throttled, host.asleep_s)


def test_this_hosts_counters_do_not_fall() -> None:
    before, after = read_host(), read_host()
    assert before.asleep_s is not None
    assert after.asleep_s == pytest.approx(before.asleep_s, abs=0.05)
    assert (after.swap_bytes or 0) >= (before.swap_bytes or 0)


def test_the_clock_rate_is_in_hertz() -> None:
    rate = cpu_frequency_hz()
    assert rate is None or 2e8 < rate < 1e10


def test_the_clock_rate_falls_back_to_cpuinfo_and_then_to_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreadable(percpu: bool) -> list[SimpleNamespace]:
        raise NotImplementedError

    monkeypatch.setattr(psutil, "cpu_freq", unreadable)
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\ncpu MHz\t\t: 2000.000\n\ncpu MHz\t\t: 3000.000\n")
    assert cpu_frequency_hz(cpuinfo) == 2.5e9
    cpuinfo.write_text("processor\t: 0\nBogoMIPS\t: 50.00\nCPU part\t: 0xd0c\n")
    assert cpu_frequency_hz(cpuinfo) is None
    assert cpu_frequency_hz(tmp_path / "absent") is None


def test_cpus_that_are_switched_off_do_not_lower_the_clock_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpus = [SimpleNamespace(current=2600.0), SimpleNamespace(current=0.0)]
    monkeypatch.setattr(psutil, "cpu_freq", lambda percpu: cpus)
    assert cpu_frequency_hz() == 2.6e9
