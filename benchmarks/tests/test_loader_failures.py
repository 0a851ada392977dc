"""Loading that does not end well: cancelled, killed, out of disk, or fed with wrong rows."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from benchmarks.datasets import fill, golden, parallel_load
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.loader import create_tables, load
from benchmarks.datasets.loading_process import send
from benchmarks.datasets.options import buffer_pool_bytes, load_options
from benchmarks.datasets.parallel_load import COST, Batch, BatchQueue, LoadingProcess
from benchmarks.datasets.progress import LoadProgress
from benchmarks.datasets.rules import expected_rows
from benchmarks.datasets.schema import TABLES
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.identity import find_by_argument
from benchmarks.processes.users import server_user
from benchmarks.servers import datadir
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.leftovers import defaults_argument
from benchmarks.servers.running import running_server

REPOSITORY = Path(__file__).resolve().parents[2]
WORKER = "benchmarks.datasets.loading_process"


def children_with(argument: str) -> list[int]:
    """Our own processes with that argument; other test runs on this machine have some too."""
    return [
        pid
        for pid, _ in find_by_argument({argument})
        if f"PPid:\t{os.getpid()}\n" in Path(f"/proc/{pid}/status").read_text()
    ]


def names(place: Path) -> list[str]:
    """What is there, but for locks and the empty data directory, which is a link here."""
    kept = [path for path in place.iterdir() if not path.is_symlink()]
    return sorted(path.name for path in kept if path.suffix != ".lock")


@pytest.fixture
def new_device(
    pristine_data_dir: Callable[[ServerBinary], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[ServerBinary, Path], Path]:
    """Makes our folder on a device that has no dataset, but the empty data directory that trial
    starts copy. A load makes no other.
    """

    def make(binary: ServerBinary, folder: Path) -> Path:
        pristine = pristine_data_dir(binary).parent
        monkeypatch.setattr(datadir, "_initialise", None)
        datasets = folder / "datasets"
        datasets.mkdir(parents=True)
        (datasets / pristine.name).symlink_to(pristine)
        return folder

    return make


#: A small table comes first: its rows are in soon, and then a large one is on its way.
SMALL_FIRST = {**COST, "new_orders": 9.0}


@pytest.fixture
def small_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_load, "COST", SMALL_FIRST)


@pytest.mark.server
def test_a_cancelled_load_leaves_nothing(
    mariadb_binary: ServerBinary,
    new_device: Callable[[ServerBinary, Path], Path],
    server_tmp: Path,
    small_first: None,
) -> None:
    device = new_device(mariadb_binary, server_tmp / "device")
    heard: list[LoadProgress] = []

    def in_the_middle() -> bool:
        return bool(heard) and heard[-1].rows > 0

    with pytest.raises(RunFailed) as caught:
        ensure_dataset(
            mariadb_binary,
            device_dir=device,
            warehouses=1,
            progress=heard.append,
            should_stop=in_the_middle,
        )
    assert caught.value.outcome is Outcome.CANCELLED
    assert names(device / "datasets") == []
    assert children_with(WORKER) == []


@pytest.mark.server
@pytest.mark.parametrize(
    ("sent", "outcome", "said"),
    [
        (signal.SIGSEGV, Outcome.CRASHED, "ended while in use"),
        (signal.SIGKILL, Outcome.LOST, "SIGKILL, which we did not send"),
    ],
)
def test_a_server_that_dies_while_loading_has_its_own_outcome(
    mariadb_binary: ServerBinary,
    new_device: Callable[[ServerBinary, Path], Path],
    server_tmp: Path,
    small_first: None,
    sent: signal.Signals,
    outcome: Outcome,
    said: str,
) -> None:
    device = new_device(mariadb_binary, server_tmp / "device")

    def kill_the_server(now: LoadProgress) -> None:
        if now.rows > 0:
            (run_dir,) = device.glob("datasets/*.loading-*/run")
            for pid, _ in find_by_argument({defaults_argument(run_dir)}):
                os.kill(pid, sent)

    with pytest.raises(RunFailed, match=said) as caught:
        ensure_dataset(
            mariadb_binary,
            device_dir=device,
            warehouses=1,
            progress=kill_the_server,
        )
    assert caught.value.outcome is outcome
    assert names(device / "datasets") == []


KILLED = """
import sys
from pathlib import Path
from benchmarks.datasets import parallel_load
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.servers.binary import identify

parallel_load.COST = SMALL_FIRST
ensure_dataset(
    identify(Path(sys.argv[1])), device_dir=Path(sys.argv[2]), warehouses=1,
    progress=lambda now: print(now.rows, flush=True),
)
""".replace("SMALL_FIRST", repr(SMALL_FIRST))


@pytest.mark.server
@pytest.mark.parametrize(
    ("number", "flavour"),
    [(signal.SIGTERM, "mysql"), (signal.SIGKILL, "mariadb")],
    ids=["TERM", "KILL"],
)
def test_the_next_caller_removes_what_a_killed_loader_left(
    request: pytest.FixtureRequest,
    new_device: Callable[[ServerBinary, Path], Path],
    server_tmp: Path,
    number: signal.Signals,
    flavour: str,
) -> None:
    binary: ServerBinary = request.getfixturevalue(f"{flavour}_binary")
    device = new_device(binary, server_tmp / "device")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(binary.path), str(device)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if int(line) > 0:  # in the middle of loading
                break
        process.send_signal(number)
        assert process.wait(10) == -number
    [leftover] = names(device / "datasets")
    assert f".loading-{process.pid}" in leftover
    with pytest.raises(RunFailed) as caught:  # a caller that ends at once cleans up all the same
        ensure_dataset(
            binary,
            device_dir=device,
            warehouses=1,
            should_stop=lambda: True,
        )
    assert caught.value.outcome is Outcome.CANCELLED
    assert names(device / "datasets") == []
    run_dir = device / "datasets" / leftover / "run"
    assert find_by_argument({defaults_argument(run_dir)}) == []


@pytest.fixture
def small_device(server_tmp: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file system of so many MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = server_tmp / "small"
    place.mkdir()

    def make(size: int) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}m,mode=755", "tmpfs", str(place)]
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            pytest.skip("this container may not mount")
        return place

    yield make
    if place.is_mount():
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.server
@pytest.mark.parametrize(
    ("flavour", "size"),  # room for an empty server, but not for a warehouse
    [("mysql", 210), ("mariadb", 100)],
)
def test_a_disk_that_fills_up_while_loading(
    flavour: str,
    size: int,
    new_device: Callable[[ServerBinary, Path], Path],
    small_device: Callable[[int], Path],
    small_first: None,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    binary: ServerBinary = request.getfixturevalue(f"{flavour}_binary")
    device = new_device(binary, small_device(size) / "device")
    monkeypatch.setattr(golden, "check_usable", lambda path, needed: None)

    def with_a_small_redo_log(*arguments: Any, **more: Any) -> dict[str, str | None]:
        redo = {"innodb_log_file_size": "16M"} if binary.flavour is Flavour.MARIADB else {}
        return load_options(*arguments, **more) | redo

    monkeypatch.setattr(fill, "load_options", with_a_small_redo_log)
    heard: list[LoadProgress] = []
    with pytest.raises(RunFailed, match="disk is full") as caught:
        ensure_dataset(
            binary,
            device_dir=device,
            warehouses=1,
            progress=heard.append,
        )
    assert caught.value.outcome is Outcome.DISK_FULL
    assert heard[-1].rows > 0
    assert names(device / "datasets") == []


@pytest.fixture
def empty_server(
    mariadb_binary: ServerBinary,
    fresh_data_dir: Callable[[ServerBinary], Path],
    server_tmp: Path,
) -> Iterator[ServerInstance]:
    with running_server(
        mariadb_binary,
        data_dir=fresh_data_dir(mariadb_binary),
        run_dir=server_tmp / "run",
        options={"local_infile": "ON"},
    ) as server:
        yield server


@pytest.mark.server
def test_lost_rows_and_a_dead_server_are_failures(
    empty_server: ServerInstance, small_first: None
) -> None:
    create_tables(empty_server)
    connection = empty_server.connect(database="tpcc", local_infile=True)
    rows = np.frombuffer(b"1\t2\t3\n2\t2\t3\n", dtype=np.uint8)
    assert send(connection, "new_orders", rows) == 2
    with pytest.raises(ValueError, match="Duplicate entry"):
        send(connection, "new_orders", rows)  # LOCAL would only warn of it
    broken = np.frombuffer(b"5\tx\t3\n", dtype=np.uint8)
    with pytest.raises(ValueError, match="Incorrect integer value"):
        send(connection, "new_orders", broken)
    connection.close()
    with pytest.raises(LoadFailed, match="already exists"):
        load(empty_server, 1)

    with empty_server.connect(database="tpcc") as admin, admin.cursor() as cursor:
        cursor.execute("DROP DATABASE tpcc")
    heard: list[LoadProgress] = []

    def kill_it() -> bool:
        if heard[-1].rows > 0 and empty_server.alive():
            os.kill(empty_server.pid, signal.SIGKILL)
        return False

    with pytest.raises(LoadFailed, match=r"Lost connection|loading process"):
        load(empty_server, 1, progress=heard.append, should_stop=kill_it)
    assert children_with(WORKER) == []


@pytest.mark.slow
def test_a_loading_process_answers_errors_and_ends_with_its_input() -> None:
    target: dict[str, object] = {"socket": "/nonexistent", "user": "u", "database": "tpcc"}
    target |= {"seed": 1, "as_user": None}
    finished = subprocess.run(
        [sys.executable, "-m", WORKER],
        input=json.dumps(target) + "\n",
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
        timeout=30,
    )
    assert finished.returncode == 0
    assert "/nonexistent" in json.loads(finished.stdout)["error"]
    started = time.monotonic()
    empty = subprocess.run(
        [sys.executable, "-m", WORKER],
        input="",
        capture_output=True,
        cwd=REPOSITORY,
        check=False,
        timeout=30,
    )
    assert time.monotonic() - started < 30
    assert empty.returncode != 0  # it was not even given an address


@pytest.mark.slow
def test_a_loading_process_imports_all_it_needs_before_it_changes_its_user() -> None:
    """That user may not be able to enter the directory that we are installed in."""
    script = """
import sys
from benchmarks.datasets import loading_process
before = set(sys.modules)
for table in ("item", "warehouse", "district", "customer", "history", "new_orders", "orders"):
    loading_process.make(table, 1, 1)
print(sorted(set(sys.modules) - before))
"""
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("dropped", [True, False])
def test_a_loading_process_speaks_to_the_server_as_its_user(
    server_tmp: Path, monkeypatch: pytest.MonkeyPatch, dropped: bool
) -> None:
    """A server may ask it for any file that it can read."""
    monkeypatch.setenv("DATABASE_URL", "postgres://advisor:hush@db/advisor")
    if not dropped:
        monkeypatch.setattr(parallel_load, "server_user", lambda: None)
    account = SimpleNamespace(user="admin", password="secret")
    server = cast(ServerInstance, SimpleNamespace(socket=server_tmp / "s", admin=account))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(server_tmp / "s"))
        (server_tmp / "s").chmod(0o777)
        listening.listen()
        listening.settimeout(30)
        loader = LoadingProcess(server, seed=1)
        try:
            with listening.accept()[0] as client:
                credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                pid, uid, gid = struct.unpack("3i", credentials)
                environment = Path(f"/proc/{pid}/environ").read_bytes()
            with pytest.raises(LoadFailed, match="a loading process failed"):
                loader.answer()
        finally:
            loader.end()
    user = server_user() if dropped else None
    assert (uid, gid) == ((user.uid, user.gid) if user else (os.geteuid(), os.getegid()))
    assert b"DATABASE_URL" not in environment


def test_every_job_is_given_once_and_tables_are_kept_apart() -> None:
    queue = BatchQueue(3)
    first, second = queue.take(), queue.take()
    assert first is not None
    assert second is not None
    assert first.table != second.table
    assert {first.warehouse, second.warehouse} == {1}  # in key order
    taken = [first, second]
    while (job := queue.take()) is not None:
        taken.append(job)
        queue.done(job)
    assert len(taken) == len(set(taken)) == 1 + 8 * 3
    assert Batch("item", 0) in taken
    assert set(COST) == {
        statement.partition("CREATE TABLE ")[2].split()[0] for statement in TABLES
    }
    assert set(COST) == {*expected_rows(1), "order_line"}


def binary(flavour: Flavour, *version: int) -> ServerBinary:
    major, minor, patch = version
    return ServerBinary(Path("/x"), flavour, (major, minor, patch), "", "ab" * 32, None)


@pytest.mark.parametrize(
    ("server", "expected", "absent"),
    [
        (binary(Flavour.MYSQL, 9, 7, 4), "innodb_ddl_threads", "innodb_log_file_size"),
        (binary(Flavour.PERCONA, 8, 0, 22), "innodb_sort_buffer_size", "innodb_log_file_size"),
        (binary(Flavour.MYSQL, 5, 7, 44), "innodb_sort_buffer_size", "innodb_log_file_size"),
        (binary(Flavour.MARIADB, 10, 6, 2), "innodb_sort_buffer_size", "innodb_log_file_size"),
        (binary(Flavour.MARIADB, 10, 11, 19), "innodb_log_file_size", "innodb_ddl_buffer_size"),
    ],
    ids=["mysql-9", "percona-8.0.22", "mysql-5.7", "mariadb-10.6", "mariadb-10.11"],
)
def test_load_options_suit_the_server(server: ServerBinary, expected: str, absent: str) -> None:
    options = load_options(server, warehouses=10, page_size=8192, cpus=2, memory=lambda: 8 << 30)
    assert expected in options
    assert absent not in options
    assert options["innodb_page_size"] == "8192"
    assert options["skip_log_bin"] is None


def test_the_buffer_pool_is_bounded_by_memory_and_need() -> None:
    gib = 1 << 30
    assert buffer_pool_bytes(1, 64 * gib) < gib
    assert buffer_pool_bytes(1000, 8 * gib) == 4 * gib
    assert buffer_pool_bytes(1000, 0) == 128 << 20
    assert buffer_pool_bytes(10, 64 * gib) > gib
