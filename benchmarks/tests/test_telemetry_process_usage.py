"""What else uses the host: a made-up /proc for the rules, real processes for the truth."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.telemetry import process_usage as module
from benchmarks.telemetry.host import HostCounters, fastest_cpu_hz, read_host
from benchmarks.telemetry.process_usage import (
    ForeignProgram,
    ProcessCounter,
    ProcessUsage,
    ProcessWatcher,
)
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.snapshot import Snapshot

TICKS = os.sysconf("SC_CLK_TCK")
WORKER, SERVER, DRIVER = 100, 101, 102


class Processes:
    """A made-up /proc."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(
        self,
        pid: int,
        name: str,
        cpu_s: float,
        *,
        parent: int = 1,
        io: int | None = 0,
        born: int = 1,
        kernel: bool = False,
    ) -> None:
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        flags = 0x00208040 if kernel else 0x00400000
        # state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
        # cutime cstime priority nice threads itrealvalue starttime vsize
        (folder / "stat").write_text(
            f"{pid} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {round(cpu_s * TICKS)} 0"
            f" 0 0 20 0 1 0 {born} 1000\n"
        )
        if io is not None:
            (folder / "io").write_text(f"rchar: 9\nread_bytes: {io}\nwrite_bytes: {2 * io}\n")

    def end(self, pid: int) -> None:
        for file in (self.root / str(pid)).iterdir():
            file.unlink()
        (self.root / str(pid)).rmdir()


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    """A worker, its mysqld and driver, a kernel thread, a daemon and what is no process."""
    made = Processes(tmp_path)
    made.put(1, "init", 50.0)
    made.put(2, "kthreadd", 0.0, parent=0, kernel=True)
    made.put(7, "kworker/0:1", 3.0, parent=2, kernel=True)
    made.put(50, "cron", 8.0, io=1000)
    made.put(WORKER, "celery", 20.0, parent=50)
    made.put(SERVER, "mysqld", 10.0, parent=WORKER, io=500)
    made.put(DRIVER, "sysbench) S (", 1.0, parent=WORKER)
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    return made


@pytest.fixture
def counter(processes: Processes) -> ProcessCounter:
    counter = ProcessCounter(proc_root=processes.root, roots=frozenset({WORKER}))
    counter.count()
    return counter


def found(counter: ProcessCounter) -> ProcessUsage:
    counter.count()
    process_usage = counter.process_usage()
    assert process_usage is not None
    return process_usage


def test_own_and_kernel_usage_is_separated_from_foreign_usage(
    processes: Processes, counter: ProcessCounter
) -> None:
    processes.put(7, "kworker/0:1", 3.5, parent=2, kernel=True)
    processes.put(50, "cron", 9.0, io=1500)
    processes.put(SERVER, "mysqld", 25.0, parent=WORKER, io=1500)
    processes.put(DRIVER, "sysbench) S (", 4.0, parent=WORKER)
    process_usage = found(counter)
    assert process_usage.foreign[0] == ForeignProgram("cron", 1.0, 1500)
    assert [n.cpu_s for n in process_usage.foreign if n.name != "cron"] == [0.0]
    assert process_usage.kernel_cpu_s == pytest.approx(0.5)
    assert (process_usage.own_read_bytes, process_usage.own_write_bytes) == (1000, 2000)
    assert process_usage.sees_io


def test_all_that_a_newcomer_used_counts_and_programs_are_added_up(
    processes: Processes, counter: ProcessCounter
) -> None:
    processes.put(60, "cc1", 2.0, io=100, born=900)
    processes.put(61, "cc1", 3.0, io=100, born=901)
    assert found(counter).foreign[0] == ForeignProgram("cc1", 5.0, 600)


def test_one_that_ended_keeps_what_it_had_used_and_its_pid_may_come_again(
    processes: Processes, counter: ProcessCounter
) -> None:
    processes.put(60, "tar", 2.0, born=900)
    counter.count()
    processes.end(60)
    counter.count()
    processes.put(60, "gzip", 0.5, born=950)
    names = {n.name: n.cpu_s for n in found(counter).foreign}
    assert names["tar"] == pytest.approx(2.0)
    assert names["gzip"] == pytest.approx(0.5)


def test_a_server_that_is_no_child_of_ours_is_ours_by_its_pid(processes: Processes) -> None:
    processes.put(SERVER, "mysqld", 10.0, parent=1)
    counter = ProcessCounter(proc_root=processes.root, roots=frozenset({WORKER, SERVER}))
    counter.count()
    processes.put(SERVER, "mysqld", 30.0, parent=1)
    assert "mysqld" not in {n.name for n in found(counter).foreign}


def test_a_driver_whose_parent_went_stays_ours(
    processes: Processes, counter: ProcessCounter
) -> None:
    processes.put(DRIVER, "sysbench", 9.0, parent=1)
    assert "sysbench" not in {n.name for n in found(counter).foreign}


def test_from_inside_of_a_container_not_all_is_seen(processes: Processes) -> None:
    for pid in (2, 7):
        processes.end(pid)
    counter = ProcessCounter(proc_root=processes.root, roots=frozenset({WORKER}))
    counter.count()
    process_usage = found(counter)
    assert not process_usage.sees_io


def test_io_that_may_not_be_looked_at_is_known_to_be_unseen(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_text

    def refused(path: Path, *args: str, **options: str) -> str:
        if path.name == "io" and path.parent.name in ("1", "50"):
            raise PermissionError(13, "Permission denied")
        return read(path, *args, **options)

    monkeypatch.setattr(Path, "read_text", refused)
    counter = ProcessCounter(proc_root=processes.root, roots=frozenset({WORKER}))
    counter.count()
    assert not found(counter).sees_io


def test_a_clock_that_falls_shows_once_there_are_enough_counts(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = iter([3e9] * 6 + [2.1e9] * 6)
    monkeypatch.setattr(module, "fastest_cpu_hz", lambda: next(clocks))
    counter = ProcessCounter(proc_root=processes.root)
    ratios = [found(counter).clock_ratio for _ in range(12)]
    assert ratios[8] is None
    assert ratios[11] == pytest.approx(0.7)


BURN = """
import sys, time
end = time.process_time() + 0.6
while time.process_time() < end:
    pass
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Burns some CPU time under a name that no other process has, says so and waits."""
    program = tmp_path / "adv-burner"
    program.symlink_to(Path(sys.executable).resolve())
    with subprocess.Popen(
        [program, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_a_real_process_is_foreign_or_ours_by_its_ancestors(
    stranger: subprocess.Popen[str],
) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        foreign = ProcessCounter(roots=frozenset({other.pid}))
        ours = ProcessCounter(roots=frozenset({os.getpid()}))
        for counter in (foreign, ours):
            counter.count()
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == "done\n"
        used = {n.name: n.cpu_s for n in found(foreign).foreign}
        assert used["adv-burner"] >= 0.4
        assert "adv-burner" not in {n.name for n in found(ours).foreign}
        other.kill()


def test_a_count_costs_little() -> None:
    counter = ProcessCounter()
    counter.count()
    began = time.thread_time()
    for _ in range(10):
        counter.count()
    # one CPU's half percent at one in 5 s would be 25 ms
    assert (time.thread_time() - began) / 10 < 0.001 * max(25, len(counter._known))


class Host:
    """The sampler's source; what it reads does not matter here."""

    def read(self, *, marked: bool = False) -> Snapshot:
        t = time.monotonic()
        return Snapshot(t, t, 0.0, 0.0, 0.0, t)


@pytest.mark.alone
def test_the_sampler_counts_between_its_marks_and_not_before(processes: Processes) -> None:
    counter = ProcessCounter(proc_root=processes.root, roots=frozenset({WORKER}))
    watcher = ProcessWatcher(counter, period_s=0.05)
    with Sampler(Host(), period_s=0.1, watcher=watcher) as sampler:
        time.sleep(0.2)
        assert sampler.process_usage() is None
        sampler.mark(MEASURE_START)
        time.sleep(0.3)
        sampler.mark(MEASURE_END)
        process_usage = sampler.process_usage()
        time.sleep(0.2)
        assert sampler.process_usage() == process_usage
    assert process_usage is not None
    assert process_usage.seconds == pytest.approx(0.3, abs=0.15)
    times = sampler.times()
    assert times[-1] - times[0] == pytest.approx(0.3, abs=0.15)


def test_a_watcher_that_never_began_ends() -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Sampler(Host(), watcher=ProcessWatcher()):
        raise KeyboardInterrupt
    assert time.monotonic() - began < 5


def test_counters_of_a_made_up_host(tmp_path: Path) -> None:
    assert read_host(tmp_path, tmp_path).swap_bytes is None
    (tmp_path / "vmstat").write_text("pswpin 3\npswpout 4\npswpin_extra 100\n")
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure/cpu").write_text("some avg10=1.00 avg60=0 avg300=0 total=2500000\n")
    (tmp_path / "pressure/io").write_text(
        "some avg10=9.00 avg60=0 avg300=0 total=9900\nfull avg10=0 avg60=0 avg300=0 total=1000\n"
    )
    for cpu, milliseconds in (("cpu0", 100), ("cpu1", 2500)):
        folder = tmp_path / "devices/system/cpu" / cpu / "thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_total_time_ms").write_text(f"{milliseconds}\n")
    host = read_host(tmp_path, tmp_path)
    page = os.sysconf("SC_PAGE_SIZE")
    name = "core_throttle_total_time_ms"
    throttled = {f"cpu0/{name}": 0.1, f"cpu1/{name}": 2.5}
    assert host == HostCounters(7 * page, 2.5, 0.001, None, throttled, host.asleep_s)


def test_this_hosts_counters_do_not_fall() -> None:
    before, after = read_host(), read_host()
    assert before.asleep_s is not None
    assert after.asleep_s == pytest.approx(before.asleep_s, abs=0.05)
    if before.swap_bytes is not None:
        assert after.swap_bytes is not None
        assert after.swap_bytes >= before.swap_bytes
    clock = fastest_cpu_hz()
    assert clock is None or 2e8 < clock < 1e10
