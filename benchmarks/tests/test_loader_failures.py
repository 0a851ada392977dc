"""Loading that does not end well: cancelled, killed, out of disk, or fed with wrong rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pymysql
import pytest

from benchmarks.datasets import loading, shared_folders, tpcc, tpcc_rows
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.loading import Batch, Meter, execute_each, never, run_all, send
from benchmarks.datasets.source import tpcc_source
from benchmarks.engines import innodb
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.orphans import find_by_argument
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import defaults_argument, running_server

REPOSITORY = Path(__file__).resolve().parents[2]


def names(place: Path) -> list[str]:
    """What is there, but for locks and the empty data directory, which is a link here."""
    kept = [path for path in place.iterdir() if not path.is_symlink()]
    return sorted(path.name for path in kept if path.suffix != ".lock")


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


class Heard(list[tuple[float, str]]):
    """What a load told of its progress."""

    def add(self, fraction: float, phase: str) -> None:
        self.append((fraction, phase))

    @property
    def has_rows(self) -> bool:
        """Whether rows are in."""
        fractions = {fraction for fraction, phase in self if phase == tpcc.ROWS}
        return len(fractions) > 1


@pytest.fixture
def small_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables come first: their rows are in soon, and then a large one is on its way."""
    turned = dict(reversed(list(tpcc_rows.PER_WAREHOUSE.items())))
    monkeypatch.setattr(tpcc_rows, "PER_WAREHOUSE", turned)


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
            tpcc_source(1),
            mariadb_binary,
            device_dir=device,
            progress=heard.add,
            should_stop=lambda: heard.has_rows,
        )
    assert caught.value.outcome is Outcome.CANCELLED
    assert names(device / "datasets") == []


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
            tpcc_source(1),
            mariadb_binary,
            device_dir=device,
            progress=kill_the_server,
        )
    assert caught.value.outcome is outcome
    assert names(device / "datasets") == []


KILLED = """
import sys
from pathlib import Path
from benchmarks.datasets import tpcc_rows
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.source import tpcc_source
from benchmarks.servers.binary import identify

tpcc_rows.PER_WAREHOUSE = dict(reversed(list(tpcc_rows.PER_WAREHOUSE.items())))
ensure_dataset(
    tpcc_source(1), identify(Path(sys.argv[1])), device_dir=Path(sys.argv[2]),
    progress=lambda fraction, phase: print(fraction, phase, flush=True),
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
            fraction, _, phase = line.strip().partition(" ")
            heard.add(float(fraction), phase)
            if heard.has_rows:
                break
        process.send_signal(number)
        assert process.wait(10) == -number
    [leftover] = names(device / "datasets")
    assert f".loading-{process.pid}" in leftover
    with pytest.raises(RunFailed) as caught:  # a caller that ends at once cleans up all the same
        ensure_dataset(
            tpcc_source(1),
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
    with pytest.raises(RunFailed) as caught:
        ensure_dataset(
            tpcc_source(1),
            binary,
            device_dir=device,
            progress=heard.add,
        )
    assert caught.value.outcome is Outcome.DISK_FULL
    assert heard[-1][1] == tpcc.ROWS
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
        options={},
    ) as server:
        yield server


@pytest.mark.server
def test_lost_rows_and_a_dead_server_are_failures(
    empty_server: ServerInstance, small_first: None
) -> None:
    source = tpcc_source(1)
    heard = Heard()

    def load(should_stop: Callable[[], bool]) -> None:
        source.load(empty_server, 2, Meter(heard.add, source.phases), should_stop)

    with pytest.raises(RunFailed):
        load(lambda: heard.has_rows)
    rows_dir = empty_server.paths.rows_dir
    assert list(rows_dir.iterdir()) == []

    def send_rows(text: bytes) -> int:
        with empty_server.connect(database="tpcc") as connection, connection.cursor() as cursor:
            make = lambda: np.frombuffer(text, dtype=np.uint8)  # noqa: E731
            return send(cursor, rows_dir, Batch("new_orders", make))

    assert send_rows(b"101\t2\t3\n102\t2\t3\n") == 2
    with pytest.raises(pymysql.Error, match="Duplicate entry"):
        send_rows(b"101\t2\t3\n")
    with pytest.raises(pymysql.Error, match="Incorrect integer value"):
        send_rows(b"5\tx\t3\n")
    with pytest.raises(pymysql.Error, match="more data"):
        send_rows(b"103\t2\t3\t4\n")
    with pytest.raises(pymysql.Error, match="already exists"):
        load(never)

    with empty_server.connect(database="tpcc") as admin, admin.cursor() as cursor:
        cursor.execute("DROP DATABASE tpcc")
    heard.clear()

    def kill_it() -> bool:
        if heard.has_rows and empty_server.alive():
            os.kill(empty_server.pid, signal.SIGKILL)
        return False

    with pytest.raises(pymysql.Error, match=r"Lost connection|gone away|\(0, "):
        load(kill_it)


@pytest.mark.server
def test_a_load_into_a_server_that_hangs_can_be_cancelled(
    empty_server: ServerInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "_END_S", 1.0)

    def freeze_and_stop() -> bool:
        os.kill(empty_server.pid, signal.SIGSTOP)
        return True

    rescue = threading.Timer(20, os.kill, (empty_server.pid, signal.SIGKILL))
    rescue.start()
    began = time.monotonic()
    with pytest.raises(RunFailed) as cancelled:
        run_all(empty_server, [execute_each(["SELECT SLEEP(60)"])], freeze_and_stop)
    rescue.cancel()
    assert cancelled.value.outcome is Outcome.CANCELLED
    assert time.monotonic() - began < 15


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
    [(1 << 27, 64 << 30, 256 << 20), (100 << 30, 8 << 30, 4 << 30), (100 << 30, 0, 128 << 20)],
)
def test_the_buffer_pool_is_bounded_by_memory_and_need(
    data_bytes: int, memory: int, pool: int
) -> None:
    server = binary(Flavour.MYSQL, 9, 7, 4)
    options = innodb.load_options(
        server, data_bytes=data_bytes, page_size=16384, cpus=2, memory=memory
    )
    assert options["innodb_buffer_pool_size"] == str(pool)
