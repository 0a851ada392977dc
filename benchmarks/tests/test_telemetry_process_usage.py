"""What else uses the host, by the rules, in a made-up /proc; `test_measure_*` have real ones."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.telemetry.process_usage import ForeignProgram, ProcessCounter, ProcessUsage

TICKS = os.sysconf("SC_CLK_TCK")
WORKER, SERVER, DRIVER = 100, 101, 102


class Processes:
    """A made-up /proc."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "stat").write_text("btime 1700000000\n")

    def put(
        self, pid: int, name: str, cpu_s: float, *, parent: int = 1, io: int = 0, born: int = 1
    ) -> None:
        folder = self.root / str(pid)
        folder.mkdir(exist_ok=True)
        # state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime
        # cstime priority nice threads itrealvalue starttime vsize ..., up to the delay by blkio
        (folder / "stat").write_text(
            f"{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {round(cpu_s * TICKS)} 0"
            f" 0 0 20 0 1 0 {born}" + " 0" * 30 + "\n"
        )
        counters = {"rchar": 9, "wchar": 9, "syscr": 9, "syscw": 9}
        counters |= {"read_bytes": io, "write_bytes": 2 * io}
        (folder / "io").write_text("".join(f"{key}: {n}\n" for key, n in counters.items()))

    def end(self, pid: int) -> None:
        shutil.rmtree(self.root / str(pid))


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    """A worker, its mysqld and driver, a kernel thread, a daemon and what is no process."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    made = Processes(tmp_path)
    made.put(1, "init", 50.0)
    made.put(2, "kthreadd", 0.0, parent=0)
    made.put(7, "kworker/0:1", 3.0, parent=2)
    made.put(50, "cron", 8.0, io=1000)
    made.put(WORKER, "celery", 20.0, parent=50)
    made.put(SERVER, "mysqld", 10.0, parent=WORKER, io=500)
    made.put(DRIVER, "sysbench) S (", 1.0, parent=WORKER)
    (tmp_path / "meminfo").write_text("MemTotal: 1 kB\n")
    return made


@pytest.fixture
def counter(processes: Processes) -> ProcessCounter:
    counter = ProcessCounter(WORKER)
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
    processes.put(7, "kworker/0:1", 3.5, parent=2)
    processes.put(50, "cron", 9.0, io=1500)
    processes.put(SERVER, "mysqld", 25.0, parent=WORKER, io=1500)
    processes.put(DRIVER, "sysbench) S (", 4.0, parent=1)  # whose parent went: it stays ours
    process_usage = found(counter)
    assert process_usage.foreign == (
        ForeignProgram("cron", 1.0, 1500),
        ForeignProgram("init", 0, 0),
    )
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
    assert (names["tar"], names["gzip"]) == pytest.approx((2.0, 0.5))


def test_a_clock_that_is_set_makes_no_process_a_newcomer(
    processes: Processes, counter: ProcessCounter
) -> None:
    (processes.root / "stat").write_text("btime 1700000001\n")
    assert {program.cpu_s for program in found(counter).foreign} == {0}


def test_a_server_that_is_no_child_of_ours_is_ours_by_its_pid(processes: Processes) -> None:
    processes.put(SERVER, "mysqld", 10.0, parent=1)
    counter = ProcessCounter(WORKER, SERVER)
    counter.count()
    processes.put(SERVER, "mysqld", 30.0, parent=1)
    assert "mysqld" not in {n.name for n in found(counter).foreign}


def test_from_inside_of_a_container_not_all_is_seen(processes: Processes) -> None:
    processes.end(7)
    processes.put(2, "supervisord", 0.0)
    assert not found(ProcessCounter(WORKER)).sees_io


def test_io_that_may_not_be_looked_at_is_known_to_be_unseen(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: psutil.Process) -> None:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "io_counters", refused)
    assert not found(ProcessCounter(WORKER)).sees_io


def test_a_thread_counts_from_the_begin_to_the_end(processes: Processes) -> None:
    counter = ProcessCounter(WORKER, period_s=0.05)
    assert counter.process_usage() is None
    counter.begin()
    time.sleep(0.3)
    counter.end()
    process_usage = counter.process_usage()
    assert process_usage is not None
    assert process_usage.seconds >= 0.25
    time.sleep(0.1)
    assert counter.process_usage() == process_usage
    counter.close()


def test_a_counter_that_never_began_ends() -> None:
    began = time.monotonic()
    ProcessCounter().close()
    assert time.monotonic() - began < 5
