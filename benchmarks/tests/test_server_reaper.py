"""No mysqld survives its worker, and the reaper touches nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.privileges import launcher
from benchmarks.servers.process import (
    ProcessId,
    command_line,
    find_by_argument,
    process_id,
    this_process,
)
from benchmarks.servers.registry import MARK, defaults_argument, reap, register
from benchmarks.servers.running import running_server

ROOT = Path(__file__).resolve().parents[2]

# A worker: starts a server, says so, and waits for its end. With "orphan" it starts the server
# without PR_SET_PDEATHSIG, as if the kernel had not delivered it.
WORKER = """
import sys, time
from pathlib import Path
from benchmarks.servers import startup
from benchmarks.servers.binary import identify
from benchmarks.servers.running import running_server

program, folder, run_dir, mode = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
if mode == "orphan":
    launcher = startup.launcher
    def without(user):
        words = launcher(user)
        at = words.index("--pdeathsig")
        return words[:at] + words[at + 2:]
    startup.launcher = without
with running_server(
    identify(Path(program)), data_dir=folder / "data", run_dir=run_dir,
    registry=folder / "registry", options={},
) as server:
    print(server.pid, server.socket.parent, flush=True)
    time.sleep(300)
"""


@pytest.fixture
def run_dir(server_tmp: Path) -> Iterator[Path]:
    path = server_tmp / ("r" * 120)  # so long that the socket gets a directory of its own
    yield path
    for pid in find_by_argument(defaults_argument(path)):
        os.kill(pid, signal.SIGKILL)


def start_worker(
    binary: ServerBinary, folder: Path, run_dir: Path, mode: str
) -> tuple[subprocess.Popen[str], int, Path]:
    """A worker process, the pid of its server and the directory of its socket."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(binary.path), str(folder), str(run_dir), mode],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert worker.stdout is not None
    with worker.stdout:
        pid, socket_dir = worker.stdout.readline().split()
    return worker, int(pid), Path(socket_dir)


def kill(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.wait()


def gone(run_dir: Path, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while find_by_argument(defaults_argument(run_dir)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.server
def test_a_server_dies_with_its_worker(
    any_server: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
    run_dir: Path,
    registry: Path,
) -> None:
    fresh_data_dir(any_server)
    worker, pid, socket_dir = start_worker(any_server, server_tmp, run_dir, "plain")
    assert find_by_argument(defaults_argument(run_dir)) == [pid]
    kill(worker)
    assert gone(run_dir)
    assert run_dir.exists()
    reap(registry)
    assert not run_dir.exists()
    assert not socket_dir.exists()
    assert list(registry.glob("*.json")) == []


@pytest.mark.server
def test_an_orphan_is_found_and_ended_and_its_files_go(
    mariadb_binary: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
    run_dir: Path,
    registry: Path,
) -> None:
    data_dir = fresh_data_dir(mariadb_binary)
    worker, pid, socket_dir = start_worker(mariadb_binary, server_tmp, run_dir, "orphan")
    assert reap(registry) == []  # its owner lives
    assert find_by_argument(defaults_argument(run_dir)) == [pid]
    kill(worker)
    assert not gone(run_dir, 0.3)
    done = reap(registry)
    assert gone(run_dir, 0)
    assert f"killed orphaned server {pid} of {run_dir}" in done
    assert not run_dir.exists()
    assert not socket_dir.exists()
    assert data_dir.exists()  # it may be someone's golden copy
    assert list(registry.glob("*.json")) == []
    assert reap(registry) == []


@pytest.mark.server
def test_an_orphan_that_was_not_yet_written_down_is_found_too(
    mariadb_binary: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
    run_dir: Path,
    registry: Path,
) -> None:
    fresh_data_dir(mariadb_binary)
    worker, _, _ = start_worker(mariadb_binary, server_tmp, run_dir, "orphan")
    kill(worker)
    (path,) = registry.glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "server": None}))
    reap(registry)
    assert gone(run_dir, 0)


@pytest.mark.server
def test_a_living_owners_server_is_left_alone(
    mariadb_binary: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    run_dir: Path,
    registry: Path,
) -> None:
    with running_server(
        mariadb_binary,
        data_dir=fresh_data_dir(mariadb_binary),
        run_dir=run_dir,
        registry=registry,
        options={},
    ) as server:
        assert reap(registry) == []
        assert server.alive()
        assert server.status()["Uptime"] >= 0


def dead_entry(registry: Path, run_dir: Path, **changes: object) -> Path:
    """The entry of an owner that is no more: our pid, but started at another time."""
    run_dir.mkdir(exist_ok=True)
    register(registry, data_dir=run_dir / "data", run_dir=run_dir, socket_dir=None)
    (path,) = registry.glob(f"{run_dir.name}-*.json")
    entry = json.loads(path.read_text())
    entry["owner"]["started"] -= 1
    path.write_text(json.dumps({**entry, **changes}))
    return path


def test_a_stranger_with_the_servers_old_pid_is_not_touched(
    registry: Path, server_tmp: Path
) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            entry = process_id(stranger.pid)
            assert entry is not None
            path = dead_entry(registry, server_tmp / "run", server=vars(entry))
            reap(registry)
            assert not path.exists()
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_a_process_that_only_mentions_the_directory_is_not_touched(
    registry: Path, server_tmp: Path
) -> None:
    run = server_tmp / "run"
    for word in (str(run), str(run / "my.cnf"), defaults_argument(run) + ".bak"):
        dead_entry(registry, run)
        with subprocess.Popen([sys.executable, "-c", "input()", word], stdin=-1) as reader:
            try:
                reap(registry)
                assert reader.poll() is None
            finally:
                reader.kill()


def test_only_directories_that_carry_our_mark_are_deleted(
    registry: Path, server_tmp: Path
) -> None:
    kept, gone_dir = server_tmp / "kept", server_tmp / "gone"
    dead_entry(registry, kept)
    (kept / MARK).unlink()
    (kept / "precious").touch()
    dead_entry(registry, gone_dir)
    assert reap(registry) == [f"deleted {gone_dir}"]
    assert (kept / "precious").exists()
    assert not gone_dir.exists()


def test_a_run_directory_that_a_living_owner_uses_again_is_left_alone(
    registry: Path, server_tmp: Path
) -> None:
    run_dir = server_tmp / "run"
    old = dead_entry(registry, run_dir)
    record = register(registry, data_dir=run_dir / "data", run_dir=run_dir, socket_dir=None)
    argument = defaults_argument(run_dir)
    with subprocess.Popen([sys.executable, "-c", "input()", argument], stdin=-1) as server:
        try:
            record.started(server.pid)
            assert reap(registry) == []
            assert server.poll() is None
        finally:
            server.kill()
    assert run_dir.exists()
    assert not old.exists()
    assert len(list(registry.glob("*.json"))) == 1


def test_an_orphan_that_cannot_be_ended_is_tried_again_next_time(
    registry: Path, server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = server_tmp / "run"
    path = dead_entry(registry, run_dir)

    def not_permitted(*_: object) -> None:
        raise PermissionError

    argument = defaults_argument(run_dir)
    with subprocess.Popen([sys.executable, "-c", "input()", argument], stdin=-1) as server:
        with monkeypatch.context() as patch:
            patch.setattr(signal, "pidfd_send_signal", not_permitted)
            assert reap(registry) == []
        assert path.exists()
        assert run_dir.exists()
        reap(registry)
        assert server.wait(5) == -signal.SIGKILL
    assert not path.exists()


def test_a_link_in_place_of_a_run_directory_is_not_followed(
    registry: Path, server_tmp: Path
) -> None:
    precious, run_dir = server_tmp / "precious", server_tmp / "run"
    dead_entry(registry, run_dir)
    run_dir.rename(precious)
    run_dir.symlink_to(precious)
    assert reap(registry) == []
    assert (precious / MARK).exists()


def test_of_a_log_directory_only_the_redo_log_is_deleted(registry: Path, server_tmp: Path) -> None:
    shared, ours = server_tmp / "shared", server_tmp / "ours"
    for number, log_dir in enumerate((shared, ours)):
        (log_dir / "#innodb_redo").mkdir(parents=True)
        (log_dir / "#innodb_redo" / "#ib_redo1").touch()
        (log_dir / "ib_logfile0").touch()
        dead_entry(registry, server_tmp / f"run{number}", log_dir=str(log_dir))
    (shared / "other").touch()
    reap(registry)
    assert [path.name for path in shared.iterdir()] == ["other"]
    assert not ours.exists()


def test_an_unreadable_entry_is_set_aside_and_stops_nothing(
    registry: Path, server_tmp: Path
) -> None:
    (registry / "a.json").write_text('{"owner": ')
    (registry / "b.json").write_text('{"owner": {"pid": 1}}')
    dead_entry(registry, server_tmp / "run")
    assert reap(registry) == [f"deleted {server_tmp / 'run'}"]
    assert sorted(path.name for path in registry.glob("*.unreadable")) == [
        "a.unreadable",
        "b.unreadable",
    ]


def test_reapers_may_meet(registry: Path, server_tmp: Path) -> None:
    runs = [server_tmp / f"run{number}" for number in range(20)]
    for run in runs:
        dead_entry(registry, run)
    done: list[str] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            done.extend(reap(registry))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(done) == sorted(f"deleted {run}" for run in runs)


@pytest.mark.long
def test_a_process_is_found_even_while_it_changes_programs(server_tmp: Path) -> None:
    argument = defaults_argument(server_tmp)
    command = [*launcher(None), "/bin/sh", "-c", "read line", argument]
    for _ in range(50):
        with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
            try:
                # What looks at all processes asks this of each.
                assert argument in command_line(child.pid)
            finally:
                child.kill()


def test_no_registry_is_nothing_to_do(server_tmp: Path) -> None:
    assert reap(server_tmp / "absent") == []


def test_a_pid_alone_identifies_no_process() -> None:
    us = this_process()
    assert not us.is_dead()
    assert replace(us, started=us.started - 1).is_dead()
    # Of these nothing can be told by a pid.
    assert not replace(us, started=us.started - 1, boot="another boot").is_dead()
    assert not replace(us, started=us.started - 1, namespace=us.namespace + 1).is_dead()
    assert ProcessId.from_text(us.as_text()) == us
    with subprocess.Popen(["sleep", "60"]) as child:
        them = process_id(child.pid)
        assert them is not None
        child.kill()
        time.sleep(0.1)
        assert them.is_dead()  # a zombie until we wait for it
