"""Loading that does not end well: cancelled, killed, out of disk, or fed with wrong rows."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import billiard  # type: ignore[import-untyped]
import numpy as np
import psutil
import pymysql
import pytest

from benchmarks.datasets import rows, shared_folders, tpcc
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.loading import Batch, load_rows
from benchmarks.datasets.progress import Meter, never
from benchmarks.datasets.row_loader import begin, load_batch, send
from benchmarks.datasets.tpcc import TpccSource
from benchmarks.engines import innodb
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.child import run
from benchmarks.processes.orphans import find_by_argument
from benchmarks.processes.users import server_user, tool, uid_of
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import defaults_argument, running_server

REPOSITORY = Path(__file__).resolve().parents[2]


def names(place: Path) -> list[str]:
    """What is there, but for locks and the empty data directory, which is a link here."""
    kept = [path for path in place.iterdir() if not path.is_symlink()]
    return sorted(path.name for path in kept if path.suffix != ".lock")


def loaders() -> list[psutil.Process]:
    """The loading programs of this process."""
    below = psutil.Process().children(recursive=True)
    return [one for one in below if "row_loader" in str(one.as_dict(["cmdline"]))]


@pytest.fixture
def new_device(
    pristine_data_dir: Callable[[ServerBinary], Path],
) -> Callable[[ServerBinary, Path], Path]:
    """Makes our folder on a device that has no dataset, but the empty data directory that trial
    starts copy. A load makes no other.
    """

    def make(binary: ServerBinary, folder: Path) -> Path:
        pristine = pristine_data_dir(binary).parent
        datasets = folder / "datasets"
        datasets.mkdir(parents=True)
        (datasets / pristine.name).symlink_to(pristine)
        return folder

    return make


class Heard(list[str]):
    """The phases that a load told of, one for each step of its progress."""

    def add(self, _: float, phase: str) -> None:
        self.append(phase)

    @property
    def has_rows(self) -> bool:
        """Whether rows are in: the first step of a phase only begins it."""
        return self.count(tpcc.ROWS) > 1


@pytest.fixture
def small_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables come first: their rows are in soon, and then a large one is on its way."""
    monkeypatch.setattr(tpcc, "TABLES", tpcc.TABLES[::-1])


@pytest.mark.server
def test_a_cancelled_load_leaves_nothing(
    mariadb_binary: ServerBinary,
    new_device: Callable[[ServerBinary, Path], Path],
    server_tmp: Path,
    small_first: None,
) -> None:
    device = new_device(mariadb_binary, server_tmp / "device")
    heard = Heard()

    with pytest.raises(RunFailed) as caught:
        ensure_dataset(
            TpccSource(1),
            mariadb_binary,
            device_dir=device,
            progress=heard.add,
            should_stop=lambda: heard.has_rows,
        )
    assert caught.value.outcome is Outcome.CANCELLED
    assert names(device / "datasets") == []
    assert loaders() == []


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

    heard = Heard()

    def kill_the_server(fraction: float, phase: str) -> None:
        heard.add(fraction, phase)
        if heard.has_rows:
            (run_dir,) = device.glob("datasets/*.loading-*/run")
            for pid in [server.pid for server in find_by_argument({defaults_argument(run_dir)})]:
                os.kill(pid, sent)

    with pytest.raises(RunFailed, match=said) as caught:
        ensure_dataset(
            TpccSource(1),
            mariadb_binary,
            device_dir=device,
            progress=kill_the_server,
        )
    assert caught.value.outcome is outcome
    assert names(device / "datasets") == []


KILLED = """
import sys
from pathlib import Path
from benchmarks.datasets import tpcc
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.tpcc import TpccSource
from benchmarks.servers.binary import identify

tpcc.TABLES = tpcc.TABLES[::-1]
ensure_dataset(
    TpccSource(1), identify(Path(sys.argv[1])), device_dir=Path(sys.argv[2]),
    progress=lambda fraction, phase: print(phase, flush=True),
)
"""


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
        heard = Heard()
        for line in process.stdout:
            heard.add(0.0, line.strip())
            if heard.has_rows:
                break
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(number)
        assert process.wait(10) == -number
    _, alive = psutil.wait_procs(started, timeout=10)
    assert [one for one in alive if "python" in one.name()] == []
    [leftover] = names(device / "datasets")
    assert f".loading-{process.pid}" in leftover
    with pytest.raises(RunFailed) as caught:  # a caller that ends at once cleans up all the same
        ensure_dataset(
            TpccSource(1),
            binary,
            device_dir=device,
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
    monkeypatch.setattr(shared_folders, "check_usable", lambda path, needed: None)
    load_options = innodb.load_options

    def with_a_small_redo_log(*arguments: Any, **more: Any) -> dict[str, str | None]:
        redo = {"innodb_log_file_size": "16M"} if binary.flavour is Flavour.MARIADB else {}
        return load_options(*arguments, **more) | redo

    monkeypatch.setattr(innodb, "load_options", with_a_small_redo_log)
    heard = Heard()
    with pytest.raises(RunFailed, match="disk is full") as caught:
        ensure_dataset(
            TpccSource(1),
            binary,
            device_dir=device,
            progress=heard.add,
        )
    assert caught.value.outcome is Outcome.DISK_FULL
    assert heard.has_rows
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
    source = TpccSource(1)
    heard = Heard()

    def load(should_stop: Callable[[], bool]) -> None:
        source.load(empty_server, 2, Meter(heard.add, source.phases), should_stop)

    with pytest.raises(RunFailed):
        load(lambda: heard.has_rows)
    with empty_server.connect(database="tpcc", local_infile=True) as connection:
        made = np.frombuffer(b"101\t2\t3\n102\t2\t3\n", dtype=np.uint8)
        assert send(connection, "new_orders", made) == 2
        with pytest.raises(LoadFailed, match="Duplicate entry"):
            send(connection, "new_orders", made)  # LOCAL would only warn of it
        broken = np.frombuffer(b"5\tx\t3\n", dtype=np.uint8)
        with pytest.raises(LoadFailed, match="Incorrect integer value"):
            send(connection, "new_orders", broken)
    with pytest.raises(pymysql.Error, match="already exists"):
        load(never)

    with empty_server.connect(database="tpcc") as admin, admin.cursor() as cursor:
        cursor.execute("DROP DATABASE tpcc")
    heard.clear()

    def kill_it() -> bool:
        if heard.has_rows and empty_server.alive():
            os.kill(empty_server.pid, signal.SIGKILL)
        return False

    with pytest.raises(LoadFailed, match=r"Lost connection|Broken pipe"):
        load(kill_it)
    assert loaders() == []


@pytest.mark.slow
def test_a_loading_process_imports_all_it_needs_before_it_changes_its_user() -> None:
    """That user may not be able to enter the directory that we are installed in."""
    script = """
import sys
from benchmarks.datasets import rows, sbtest
before = set(sys.modules)
for table in rows.PER_WAREHOUSE:
    rows.PER_WAREHOUSE[table](1, 1)
sbtest.rows(1, 1, 100)
print(sorted(set(sys.modules) - before))
"""
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert said.stdout.strip() == "[]"


def _load_as(account: dict[str, str], dropped: bool) -> None:
    make = "benchmarks.datasets.rows:warehouse"
    begin(account, server_user() if dropped else None, [make])
    load_batch("warehouse", make, (1, 1))


@pytest.mark.parametrize("dropped", [True, False])
def test_a_loading_process_speaks_to_the_server_as_its_user(
    server_tmp: Path, dropped: bool
) -> None:
    """A server may ask it for any file that it can read, and reads no memory of its user's."""
    account = {"socket": str(server_tmp / "s"), "user": "admin", "password": "secret"}
    account["database"] = "tpcc"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(server_tmp / "s"))
        (server_tmp / "s").chmod(0o777)
        user = server_user() if dropped else None
        os.chown(server_tmp / "s", uid_of(server_user()), -1)
        listening.listen()
        listening.settimeout(60)
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_load_as, args=(account, dropped))
        process.start()
        with listening.accept()[0] as client:
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid, uid, gid = struct.unpack("3i", credentials)
            environment = run(tool("head"), "-c1", f"/proc/{pid}/environ")
        process.join()
    assert (uid, gid) == ((user.uid, user.gid) if user else (os.geteuid(), os.getegid()))
    assert environment.status != 0 or server_user() is None
    assert process.exitcode == 1


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
    options = innodb.load_options(
        server, data_bytes=1 << 30, page_size=8192, cpus=2, memory=8 << 30
    )
    assert expected in options
    assert absent not in options
    assert options["innodb_page_size"] == "8192"


@pytest.mark.parametrize(
    ("data_bytes", "memory", "pool"),
    [
        (1 << 27, 64 << 30, 256 << 20),
        (100 << 30, 8 << 30, 4 << 30),
        (100 << 30, 0, 128 << 20),
    ],
)
def test_the_buffer_pool_is_bounded_by_memory_and_need(
    data_bytes: int, memory: int, pool: int
) -> None:
    options = innodb.load_options(
        binary(Flavour.MYSQL, 9, 7, 4),
        data_bytes=data_bytes,
        page_size=16384,
        cpus=2,
        memory=memory,
    )
    assert options["innodb_buffer_pool_size"] == str(pool)


def _load_from_nobody(socket: Path) -> None:
    account = SimpleNamespace(user="admin", password="secret")
    server = cast(ServerInstance, SimpleNamespace(socket=socket, admin=account))
    batches = [Batch("warehouse", rows.warehouse, (1, 1))]
    with pytest.raises(LoadFailed, match="a loading process failed: OperationalError"):
        load_rows(server, "tpcc", batches, jobs=1, on_rows=lambda _: None, should_stop=never)


def test_a_daemonic_process_as_celery_has_them_may_load(server_tmp: Path) -> None:
    process = billiard.Process(target=_load_from_nobody, args=(server_tmp / "s",), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode == 0
