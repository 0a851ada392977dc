"""A claim names a process for as long as it lives, and no longer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchmarks.jobs.claimant import (
    claimant,
    is_dead,
    is_seen_from_here,
    machine_id,
    process_of,
)
from benchmarks.processes.identity import ProcessId, command_line, process_id, this_process
from benchmarks.processes.orphans import none_left_behind

# Its main thread ends, the other goes on.
HALF_DEAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def claim_of(process: ProcessId) -> str:
    return f"{machine_id()}.{process.as_text()}"


def test_a_claim_holds_while_its_process_lives() -> None:
    assert claimant() == claimant()
    assert process_of(claimant()) == this_process()
    assert is_seen_from_here(claimant())
    assert not is_dead(claimant())


def test_setting_the_clock_makes_no_claim_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    before = claimant()
    # What psutil counts a start time from moves with the wall clock.
    monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: 1.0)
    assert claimant() == before
    assert not is_dead(before)


def test_a_claim_is_dead_with_its_process_zombie_and_successor() -> None:
    us = this_process()
    assert is_dead(claim_of(replace(us, started=us.started - 1)))  # the same pid, another process
    with subprocess.Popen(["sleep", "60"]) as child:
        found = process_id(child.pid)
        assert found is not None
        assert not is_dead(claim_of(found))
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(claim_of(found))
    assert is_dead(claim_of(found))


@pytest.fixture
def half_dead() -> Iterator[Callable[[], int]]:
    """Starts a process whose main thread is a zombie, as that of a killed one is for a while."""
    children: list[subprocess.Popen[bytes]] = []

    def start() -> int:
        child = subprocess.Popen([sys.executable, "-c", HALF_DEAD])
        children.append(child)
        deadline = time.monotonic() + 60
        while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return child.pid

    yield start
    for child in children:
        child.kill()
        child.wait()


def test_a_claim_is_dead_when_the_last_thread_of_its_process_is(
    half_dead: Callable[[], int],
) -> None:
    pid = half_dead()
    found = process_id(pid)
    assert found is not None
    assert not is_dead(claim_of(found))  # it has all files and locks
    assert command_line(pid) == []
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(claim_of(found))


def test_what_a_job_leaves_behind_is_killed_with_its_last_thread(
    half_dead: Callable[[], int],
) -> None:
    with none_left_behind():
        pid = half_dead()
    assert not psutil.pid_exists(pid)


def test_processes_elsewhere_cannot_be_judged() -> None:
    us = this_process()
    for elsewhere in (
        replace(us, started=1, namespace=us.namespace + 1),  # another container
        replace(us, started=1, boot="0" * 8),  # another machine, or this one before it was booted
    ):
        assert not is_seen_from_here(claim_of(elsewhere))
        assert not is_dead(claim_of(elsewhere))
    for unknown in ("", "another:1:any", "host:1:boot+2", f"host.{us.boot}.1"):
        assert not is_seen_from_here(unknown)
        assert not is_dead(unknown)


def test_a_machine_is_known_by_a_word_that_does_not_give_its_secret_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "machine-id"
    monkeypatch.setattr("benchmarks.jobs.claimant._MACHINE_ID", secret)
    assert machine_id() == ""  # as in containers
    secret.write_text("\n")
    assert machine_id() == ""
    secret.write_text(f"{'5eC4e7' * 5}\n")
    assert machine_id()
    assert claimant().startswith(f"{machine_id()}.")
    assert "5eC4e7" not in claimant()
