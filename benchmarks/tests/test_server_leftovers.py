"""Nothing outlives its worker or its job, and a sweep touches nothing in use or not ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from benchmarks.ownership import held_folder
from benchmarks.processes import orphans
from benchmarks.processes.orphans import end_by_argument, find_by_argument, none_left_behind
from benchmarks.servers import running
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.running import defaults_argument, end_servers, sweep_folders

ROOT = Path(__file__).resolve().parents[2]

# A worker: starts a server, says so, and waits for its end. With "orphan" it starts the server
# without PR_SET_PDEATHSIG, as if the kernel had not delivered it.
WORKER = """
import sys, time
from pathlib import Path
from benchmarks.ownership import held_folder
from benchmarks.processes import child
from benchmarks.servers.binary import identify
from benchmarks.servers.running import running_server

program, folder, run_dir, mode = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
if mode == "orphan":
    launcher = child.launcher
    def without(*arguments):
        words = launcher(*arguments)
        at = words.index("--pdeathsig")
        return words[:at] + words[at + 2:]
    child.launcher = without
with (
    held_folder(run_dir),
    running_server(
        identify(Path(program)), data_dir=folder / "data", run_dir=run_dir, options={}
    ) as server,
):
    print(server.pid, flush=True)
    time.sleep(300)
"""


@pytest.fixture
def run_dir(server_tmp: Path) -> Iterator[Path]:
    path = server_tmp / "runs" / "run"
    yield path
    for pid in servers_of(path):
        os.kill(pid, signal.SIGKILL)


def servers_of(run_dir: Path) -> list[int]:
    return [server.pid for server in find_by_argument({defaults_argument(run_dir)})]


def gone(run_dir: Path, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while servers_of(run_dir):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.server
@pytest.mark.parametrize("mode", ["plain", "orphan"])
def test_nothing_of_a_killed_workers_server_stays(
    any_server: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
    run_dir: Path,
    mode: str,
) -> None:
    data_dir = fresh_data_dir(any_server)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, any_server.path, server_tmp, run_dir, mode],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert worker.stdout is not None
    with worker.stdout:
        pid = int(worker.stdout.readline())
    assert servers_of(run_dir) == [pid]
    assert sweep_folders(run_dir.parent) == []  # the worker lives
    assert servers_of(run_dir) == [pid]
    worker.kill()
    worker.wait()
    assert gone(run_dir, 5.0 if mode == "plain" else 0.3) is (mode == "plain")
    assert sweep_folders(run_dir.parent) == [run_dir]
    assert gone(run_dir, 0)
    assert data_dir.exists()  # it is not in the run's folder
    assert sweep_folders(run_dir.parent) == []


def test_a_process_that_only_mentions_the_folder_is_not_touched(server_tmp: Path) -> None:
    run = server_tmp / "run"
    for word in (str(run), str(run / "my.cnf"), defaults_argument(run) + ".bak"):
        run.mkdir()
        with subprocess.Popen([sys.executable, "-c", "input()", word], stdin=-1) as reader:
            try:
                assert sweep_folders(server_tmp, "run") == [run]
                assert reader.poll() is None
            finally:
                reader.kill()


def test_held_folders_links_and_drafts_stay(tmp_path: Path) -> None:
    left, alive, precious = tmp_path / "left", tmp_path / "alive", tmp_path / "precious" / "deep"
    (left / "data").mkdir(parents=True)
    precious.mkdir(parents=True)
    (tmp_path / "link").symlink_to(precious)
    (tmp_path / ".draft").mkdir()
    with held_folder(alive):
        assert sweep_folders(tmp_path, "*[!s]") == [left]
        with pytest.raises(BlockingIOError), held_folder(alive):
            pass
    assert {path.name for path in tmp_path.iterdir()} == {"precious", "link", ".draft"}
    assert precious.is_dir()
    assert sweep_folders(tmp_path / "absent") == []


def test_nobody_gets_a_folder_while_it_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left"
    left.mkdir()

    def meanwhile(folder: Path) -> bool:
        with pytest.raises(BlockingIOError), held_folder(folder):
            pass
        return True

    monkeypatch.setattr(running, "end_servers", meanwhile)
    assert sweep_folders(tmp_path) == [left]


def test_a_server_that_cannot_be_ended_is_tried_again_next_time(
    server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = server_tmp / "loading" / "run"
    run_dir.mkdir(parents=True)

    def not_permitted(*_: object) -> None:
        raise psutil.AccessDenied

    argument = defaults_argument(run_dir)
    with subprocess.Popen([sys.executable, "-c", "input()", argument], stdin=-1) as server:
        with monkeypatch.context() as patch:
            patch.setattr(psutil.Process, "kill", not_permitted)
            assert sweep_folders(server_tmp) == []
        assert run_dir.exists()
        assert end_servers(run_dir.parent)
        assert not psutil.pid_exists(server.pid)


# Its main thread ends, the other goes on.
HALF_DEAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_only_what_the_block_left_behind_is_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as earlier:
        try:
            with none_left_behind():
                leaves_one = ["sh", "-c", "sleep 60 >&2 & echo $!"]
                left = int(subprocess.check_output(leaves_one, stderr=subprocess.DEVNULL))
                assert psutil.pid_exists(left)
            assert earlier.poll() is None
            assert not psutil.pid_exists(left)
        finally:
            earlier.kill()


def test_a_process_whose_main_thread_is_a_zombie_is_killed_with_its_last_thread() -> None:
    with none_left_behind():
        half_dead = subprocess.Popen([sys.executable, "-c", HALF_DEAD])
        while psutil.Process(half_dead.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
    assert not psutil.pid_exists(half_dead.pid)
    half_dead.wait()


def test_a_server_reaped_before_the_signal_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's parent may fetch its exit status between the look and the signal."""
    with subprocess.Popen(["sleep", "60"]) as server:
        found = psutil.Process(server.pid)
        server.kill()
    looks = iter([[found], []])
    monkeypatch.setattr(orphans, "find_by_argument", lambda _: next(looks))
    assert end_by_argument({"60"})
