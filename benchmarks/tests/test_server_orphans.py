"""What a job's programs leave behind ends with the job, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.processes import identity
from benchmarks.processes.orphans import none_left_behind

# Its main thread ends, the other goes on.
HALF_DEAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_only_what_the_block_left_behind_is_ended() -> None:
    leaves_one = "sleep 60 >&2 & echo $!"
    with subprocess.Popen(["sleep", "60"]) as earlier:
        try:
            with none_left_behind():
                left = subprocess.run(
                    ["sh", "-c", leaves_one],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    check=True,
                    text=True,
                )
                assert psutil.pid_exists(int(left.stdout))
            assert earlier.poll() is None
            assert not psutil.pid_exists(int(left.stdout))
        finally:
            earlier.kill()


def test_a_process_whose_main_thread_is_a_zombie_is_killed_with_its_last_thread() -> None:
    with none_left_behind():
        half_dead = subprocess.Popen([sys.executable, "-c", HALF_DEAD])
        while psutil.Process(half_dead.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
    assert not psutil.pid_exists(half_dead.pid)
    half_dead.wait()


def test_a_server_reaped_before_the_signal_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The owner's parent may fetch its exit status between the look and the signal."""
    with subprocess.Popen(["sleep", "60"]) as server:

        def look(pid: int) -> list[str]:
            server.kill()
            server.wait()
            return ["sleep", "60"]

        monkeypatch.setattr(identity, "command_line", look)
        assert not identity.kill_checked(server.pid, "60")
