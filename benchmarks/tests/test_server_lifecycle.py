"""Start and stop on every path, good or bad."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from benchmarks.errors import DeviceUnusable, NoServerUser, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.orphans import find_by_argument
from benchmarks.servers import running
from benchmarks.servers.accounts import account_sql
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.datadir import create_data_dir
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.paths import InstancePaths
from benchmarks.servers.reach import free_port
from benchmarks.servers.running import defaults_argument, running_server
from benchmarks.tests.quick import QUICK, pretend

pytestmark = pytest.mark.server

FreshDataDir = Callable[..., Path]
Start = Callable[..., contextlib.AbstractContextManager[ServerInstance]]


@pytest.fixture
def run_dir(server_tmp: Path) -> Iterator[Path]:
    """A run directory; whatever the test did, no server of it may run afterwards."""
    path = server_tmp / "run"
    yield path
    assert find_by_argument({defaults_argument(path)}) == []
    assert not (path / "init.sql").exists()


@pytest.fixture
def start(fresh_data_dir: FreshDataDir, run_dir: Path) -> Start:
    """Starts a server, on a fresh data directory by default."""

    def make(
        binary: ServerBinary,
        options: dict[str, str | None] | None = None,
        *,
        data_dir: Path | None = None,
        **more: Any,
    ) -> contextlib.AbstractContextManager[ServerInstance]:
        data_dir = data_dir or fresh_data_dir(binary)
        options = {} if options is None else options
        return running_server(binary, data_dir=data_dir, run_dir=run_dir, options=options, **more)

    return make


@pytest.fixture
def empty(server_tmp: Path) -> Path:
    path = server_tmp / "empty"
    path.mkdir()
    return path


def refusal(
    error: type[BaseException], match: str | None, server: contextlib.AbstractContextManager[Any]
) -> Any:
    """The error that a start ends with."""
    with pytest.raises(error, match=match) as caught, server:
        pytest.fail("it must not start")
    return caught.value


def test_it_starts_stops_and_starts_again(
    any_server: ServerBinary, fresh_data_dir: FreshDataDir, start: Start
) -> None:
    data_dir = fresh_data_dir(any_server)
    passwords = set()
    for fast in (False, True):
        with start(any_server, QUICK, data_dir=data_dir, fast_shutdown=fast) as server:
            assert server.alive()
            passwords.add(server.admin.password)
            with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
                cursor.execute("CREATE DATABASE IF NOT EXISTS kept")
                cursor.execute("SHOW DATABASES LIKE 'kept'")
                assert cursor.fetchall() == (("kept",),)
        assert not server.alive()
        assert server.exit_status == 0
        assert "hutdown complete" in server.error_log_tail()
    assert len(passwords) == 2


def test_an_error_in_the_block_ends_the_server_and_passes_through(
    mariadb_binary: ServerBinary, start: Start
) -> None:
    with pytest.raises(SystemExit, match="7"), start(mariadb_binary) as server:
        raise SystemExit(7)
    assert not server.alive()


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_an_interrupt_before_the_process_is_noted_leaves_none(
    mariadb_binary: ServerBinary,
    start: Start,
    run_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        assert find_by_argument({defaults_argument(run_dir)})
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "ServerInstance", interrupted)
    with pytest.raises(KeyboardInterrupt), start(mariadb_binary):
        pytest.fail("it must not go on")


@pytest.mark.parametrize(
    ("flavour", "options", "said"),
    [
        ("mysql", {"no_such_knob": "1"}, "unknown variable 'no_such_knob=1'"),
        ("mariadb", {"no_such_knob": "1"}, "unknown variable 'no_such_knob=1'"),
        ("mysql", {"innodb_page_size": "5000"}, "Invalid page size=5000"),
        ("mariadb", {"innodb_flush_method": "ALL_O_DIRECT"}, "Error while setting value"),
    ],
)
def test_a_refused_option_is_no_start_with_the_servers_own_words(
    flavour: str,
    options: dict[str, str | None],
    said: str,
    request: pytest.FixtureRequest,
    start: Start,
) -> None:
    binary: ServerBinary = request.getfixturevalue(f"{flavour}_binary")
    failure = refusal(RunFailed, said, start(binary, {**QUICK, **options}))
    assert failure.outcome is Outcome.NO_START
    assert said in failure.log_tail
    assert "[Note]" not in failure.log_tail
    assert "[System]" not in failure.log_tail


def test_an_option_of_ours_is_a_bug_and_starts_nothing(
    mariadb_binary: ServerBinary, empty: Path, start: Start
) -> None:
    server = start(mariadb_binary, {"datadir": "/var/lib/mysql"}, data_dir=empty)
    refusal(ValueError, "datadir belongs to the instance", server)


@pytest.mark.parametrize(
    ("deadline_s", "stop", "outcome"),
    [(0.4, False, Outcome.TIMED_OUT), (30, True, Outcome.CANCELLED)],
)
def test_one_that_never_answers_is_ended_even_when_it_ignores_sigterm(
    deadline_s: float,
    stop: bool,
    outcome: Outcome,
    server_tmp: Path,
    empty: Path,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "FAILED_STOP_S", 0.3)
    binary = pretend(server_tmp, "trap '' TERM; echo waiting; while :; do sleep 0.05; done")
    began = time.monotonic()
    server = start(
        binary,
        data_dir=empty,
        deadline_s=deadline_s,
        should_stop=lambda: stop and time.monotonic() - began > 0.3,
    )
    failure = refusal(RunFailed, None, server)
    assert failure.outcome is outcome
    assert time.monotonic() - began < 25
    if outcome is Outcome.TIMED_OUT:
        assert failure.log_tail == "waiting"


def test_a_port_that_was_snatched_away_costs_one_more_start(
    any_server: ServerBinary,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        taken = squatter.getsockname()[1]
        free = free_port()
        ports = iter([taken, free])
        monkeypatch.setattr(running, "free_port", lambda *_: next(ports))
        with start(any_server, QUICK) as server:
            assert server.port == free
            assert server.variables()["port"] == str(free)


def test_ports_are_not_tried_for_ever(server_tmp: Path, empty: Path, start: Start) -> None:
    starts = server_tmp / "starts"
    starts.touch()
    starts.chmod(0o666)
    binary = pretend(
        server_tmp,
        f"echo x >> {starts}\n"
        "echo '[ERROR] Can not start server: Bind on TCP/IP port: Address already in use'\nexit 1",
    )
    server = start(binary, data_dir=empty)
    failure = refusal(RunFailed, "Address already in use", server)
    assert failure.outcome is Outcome.NO_START
    assert starts.read_text() == "x\n" * 4


def test_a_long_path_does_not_stop_the_socket(
    any_server: ServerBinary, fresh_data_dir: FreshDataDir, server_tmp: Path
) -> None:
    (server_tmp / ("long" * 30)).mkdir()
    data_dir = fresh_data_dir(any_server, f"{'long' * 30}/data")
    with running_server(
        any_server, data_dir=data_dir, run_dir=data_dir.with_name("run"), options={}
    ) as server:
        assert len(os.fsencode(server.socket)) > 107
        assert server.socket.parent.stat().st_mode & 0o077 == 0
        assert server.status()["Uptime"] >= 0


def test_the_redo_log_lives_in_its_own_directory(
    any_server: ServerBinary,
    fresh_data_dir: FreshDataDir,
    server_tmp: Path,
    start: Start,
) -> None:
    data_dir, log_dir = fresh_data_dir(any_server), server_tmp / "redo"
    log_dir.mkdir()
    moved = [*data_dir.glob("#innodb_redo"), *data_dir.glob("ib_logfile*")]
    assert moved
    for path in moved:
        shutil.move(path, log_dir)
    with start(any_server, QUICK, data_dir=data_dir, log_dir=log_dir) as server:
        assert Path(server.variables()["innodb_log_group_home_dir"]) == log_dir
        opened = [Path(file.path) for file in psutil.Process(server.pid).open_files()]
        assert [path for path in opened if log_dir in path.parents]
        assert not [*data_dir.glob("#innodb_redo"), *data_dir.glob("ib_logfile*")]


def test_a_data_directory_whose_server_was_killed_is_not_kept(
    mariadb_binary: ServerBinary, start: Start
) -> None:
    reason = "shutting down was ended by SIGKILL, which we did not send"
    with (
        pytest.raises(RunFailed, match=reason) as caught,
        start(mariadb_binary, fast_shutdown=False) as server,
    ):
        os.kill(server.pid, signal.SIGKILL)
    assert caught.value.outcome is Outcome.LOST


def test_root_has_no_empty_password_from_the_first_moment(
    any_server: ServerBinary,
    fresh_data_dir: FreshDataDir,
    start: Start,
    run_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even without the init file, and tried all the time while the server starts."""

    def without_the_lock(*arguments: object) -> str:
        lines = account_sql(*arguments).splitlines(keepends=True)  # type: ignore[arg-type]
        assert "'root'" in lines[-1]
        return "".join(lines[:-1])

    monkeypatch.setattr(running, "account_sql", without_the_lock)
    answers: set[int] = set()
    refused = {1045, 4151, 3118}  # denied, or locked
    stop = threading.Event()

    def hammer() -> None:
        while not stop.is_set():
            time.sleep(0.002)
            with socket.socket(socket.AF_UNIX) as raw:
                try:
                    (path,) = run_dir.glob("own/*.sock")
                    raw.connect(str(path))
                    connection = pymysql.Connection(user="root", defer_connect=True)
                    connection.connect(raw)
                    answers.add(0)
                except pymysql.err.OperationalError as error:
                    answers.add(error.args[0])
                except (OSError, ValueError):
                    pass  # not there yet, or no more

    thread = threading.Thread(target=hammer)
    data_dir = fresh_data_dir(any_server)
    thread.start()
    try:
        with start(any_server, QUICK, data_dir=data_dir):
            deadline = time.monotonic() + 30  # on a busy host an answer takes a while
            while not answers & refused and time.monotonic() < deadline:
                time.sleep(0.02)
    finally:
        stop.set()
        thread.join()
    assert 0 not in answers
    assert answers & refused


def test_a_data_directory_is_made_as_requested(
    mariadb_binary: ServerBinary, server_tmp: Path, start: Start
) -> None:
    data_dir = server_tmp / "small-pages"
    create_data_dir(mariadb_binary, data_dir, options={"innodb_page_size": "8k"})
    with start(mariadb_binary, {"innodb_page_size": "8k"}, data_dir=data_dir) as server:
        assert server.variables()["innodb_page_size"] == "8192"
    with pytest.raises(FileExistsError):
        create_data_dir(mariadb_binary, data_dir)


def test_while_a_data_directory_is_made_all_of_it_is_in_one_place(
    mariadb_binary: ServerBinary, server_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed then leaves nothing where nobody looks for it."""
    used = []

    def initialise(binary: ServerBinary, paths: InstancePaths) -> None:
        used.append(paths.run_dir)

    monkeypatch.setattr("benchmarks.servers.datadir._initialise", initialise)
    create_data_dir(mariadb_binary, server_tmp / "data")
    assert [path.parent for path in used] == [server_tmp]


def test_a_data_directory_that_failed_leaves_nothing(
    any_server: ServerBinary, server_tmp: Path
) -> None:
    with pytest.raises(RunFailed, match="no_such_knob") as caught:
        create_data_dir(any_server, server_tmp / "data", options={**QUICK, "no_such_knob": "1"})
    assert caught.value.outcome is Outcome.NO_START
    assert list(server_tmp.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user to become")
class TestAsRoot:
    def test_without_the_server_user_nothing_is_started(
        self,
        server_tmp: Path,
        empty: Path,
        start: Start,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        marker = server_tmp / "ran"
        binary = pretend(server_tmp, f"touch {marker}")
        for user, said in (("no-such-user", "no system user"), ("root", "never run as root")):
            monkeypatch.setenv("ADVISOR_SERVER_USER", user)
            refusal(NoServerUser, said, start(binary, data_dir=empty))
        assert not marker.exists()

    def test_a_folder_that_the_user_cannot_enter_is_named(
        self, mariadb_binary: ServerBinary, server_tmp: Path, start: Start
    ) -> None:
        closed = server_tmp / "closed"
        closed.mkdir(mode=0o700)
        (closed / "data").mkdir()
        server = start(mariadb_binary, data_dir=closed / "data")
        refusal(DeviceUnusable, f"cannot enter {closed}$", server)
        with pytest.raises(DeviceUnusable, match=f"cannot enter {closed}$"):
            create_data_dir(mariadb_binary, closed / "new")
