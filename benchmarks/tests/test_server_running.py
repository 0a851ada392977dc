"""What is true of a running server, seen on one instance of each flavour."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from benchmarks.processes.users import server_user
from benchmarks.servers.accounts import Account
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.instance import ServerInstance, pinned_socket
from benchmarks.servers.running import running_server

pytestmark = pytest.mark.server

KNOBS = {
    "innodb_buffer_pool_size": "150M",
    "sort-buffer-size": "300000",
    "report_host": "a#b c",
    "innodb_doublewrite": "OFF",
    "log_bin": "ON",
    "performance_schema": "OFF",
}


@contextlib.contextmanager
def with_groups_of_root() -> Iterator[None]:
    """As a login shell of root has them; only root can change groups."""
    before = os.getgroups()
    if os.geteuid() == 0:
        os.setgroups([0])
    yield
    if os.geteuid() == 0:
        os.setgroups(before)


@pytest.fixture(scope="module")
def server(
    any_server: ServerBinary,
    server_session_tmp: Path,
    pristine_data_dir: Callable[[ServerBinary], Path],
) -> Iterator[ServerInstance]:
    """A server with KNOBS, started in an environment that tries to lead it astray."""
    folder = server_session_tmp / f"running-{any_server.digest[:12]}"
    folder.mkdir()
    (folder / "my.cnf").write_text("[mysqld]\nmax_connections = 77\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYSQL_HOME", str(folder))
        patch.setenv("HOME", str(folder))
        patch.setenv("MYSQL_TCP_PORT", "3306")
        patch.setenv("LD_PRELOAD", "")
        shutil.copytree(pristine_data_dir(any_server), folder / "data")
        with (
            with_groups_of_root(),
            running_server(
                any_server,
                data_dir=folder / "data",
                run_dir=folder / "run",
                options=KNOBS,
            ) as instance,
        ):
            yield instance


def test_the_candidates_knobs_are_read_back_and_nothing_of_the_system(
    server: ServerInstance,
) -> None:
    variables = server.variables()
    # The buffer pool grows in chunks of 128 MiB on MySQL.
    assert int(variables["innodb_buffer_pool_size"]) in (150 << 20, 256 << 20)
    assert variables["sort_buffer_size"] == "300000"
    assert variables["report_host"] == "a#b c"
    assert variables["innodb_doublewrite"] == "OFF"
    assert variables["log_bin"] == "ON"
    assert variables["max_connections"] != "77"
    assert server.status()["Uptime"] >= 0
    environment = psutil.Process(server.pid).environ()
    assert not {name for name in environment if name.startswith(("MYSQL", "LD_PRELOAD"))}
    assert environment["HOME"] == "/nonexistent"


def test_what_is_ours_is_as_we_said(server: ServerInstance) -> None:
    variables = server.variables()
    assert Path(variables["datadir"]) == server.paths.data_dir
    assert variables["socket"] == server.paths.socket_from_data
    assert variables["port"] == str(server.port)
    assert variables["local_infile"] == "OFF"
    assert variables["innodb_fast_shutdown"] == "2"
    assert Path(variables["secure_file_priv"]) == server.paths.rows_dir


def test_it_listens_on_loopback_and_one_socket_and_nowhere_else(server: ServerInstance) -> None:
    process = psutil.Process(server.pid)
    inet = process.net_connections(kind="inet")
    listening = {tuple(c.laddr) for c in inet if c.status == psutil.CONN_LISTEN}
    assert listening == {("127.0.0.1", server.port)}
    assert not [c for c in inet if c.type == socket.SOCK_DGRAM]
    sockets = {str(c.laddr) for c in process.net_connections(kind="unix")}
    assert sockets - {""} == {server.paths.socket_from_data}


def test_it_never_runs_as_root(server: ServerInstance) -> None:
    process = psutil.Process(server.pid)
    user = server_user()
    expected = os.getuid() if user is None else user.uid
    assert expected != 0
    assert set(process.uids()) == {expected}
    status = Path(f"/proc/{server.pid}/status").read_text()
    assert "NoNewPrivs:\t1\n" in status or user is None
    groups = next(line for line in status.splitlines() if line.startswith("Groups:"))
    assert "0" not in groups.split()[1:] or user is None


def test_it_is_apart_from_our_terminal_and_goes_before_the_worker(server: ServerInstance) -> None:
    assert os.getsid(server.pid) == server.pid
    assert os.getpgid(server.pid) != os.getpgid(0)
    proc = Path(f"/proc/{server.pid}")
    assert int((proc / "oom_score_adj").read_text()) > 0
    limits = (proc / "limits").read_text().splitlines()  # whatever the shell's are
    soft, hard = next(line for line in limits if line.startswith("Max open files")).split()[3:5]
    assert soft == hard
    assert int(soft) >= min(65_536, int(hard))


def test_no_password_is_where_others_could_read_it(server: ServerInstance) -> None:
    passwords = [server.admin.password, server.driver_account.password]
    assert len(set(passwords)) == 2
    assert min(map(len, passwords)) >= 32
    places = {
        "command line": " ".join(psutil.Process(server.pid).cmdline()),
        "environment": repr(psutil.Process(server.pid).environ()),
        "instance": repr(server) + repr(server.admin) + repr(server.driver_account),
        "log": server.error_log_tail(10_000),
    }
    files = [path for path in server.paths.run_dir.rglob("*") if path.is_file()]
    files += [path for path in server.paths.data_dir.glob("binlog*") if path.is_file()]
    assert server.paths.config in files
    assert [path for path in files if path.name.startswith("binlog.0")]
    places |= {str(path): path.read_bytes().decode(errors="replace") for path in files}
    for password in passwords:
        assert not [name for name, text in places.items() if password in text]
    assert not server.paths.init_file.exists()


def test_config_and_run_directory_are_private(server: ServerInstance) -> None:
    assert stat.S_IMODE(server.paths.config.stat().st_mode) == 0o600
    run = server.paths.run_dir.stat()
    assert run.st_uid == os.geteuid()  # also of root, who alone can change the my.cnf in it
    assert stat.S_IMODE(run.st_mode) == (0o700 if os.geteuid() else 0o711)
    assert stat.S_IMODE(server.paths.own_dir.stat().st_mode) == 0o700


def connect_tcp(server: ServerInstance, account: Account) -> pymysql.Connection[Any]:
    return pymysql.connect(
        host="127.0.0.1", port=server.port, user=account.user, password=account.password
    )


def test_the_driver_logs_in_over_plain_tcp_without_keys_or_tls(
    server: ServerInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_keys(*_: object) -> bytes:
        raise AssertionError("the server's password cache is cold: full authentication")

    monkeypatch.setattr("pymysql._auth.sha2_rsa_encrypt", no_keys)
    with contextlib.closing(connect_tcp(server, server.driver_account)) as connection:
        capabilities: int = vars(connection)["server_capabilities"]
        assert not capabilities & pymysql.constants.CLIENT.SSL
        with connection.cursor() as cursor:
            cursor.execute("SELECT CURRENT_USER()")
            assert cursor.fetchall() == (("tpcc@%",),)


def test_the_driver_may_change_data_and_nothing_else(server: ServerInstance) -> None:
    with contextlib.closing(server.connect()) as admin, admin.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS tpcc")
        cursor.execute("CREATE TABLE IF NOT EXISTS tpcc.t (a INT PRIMARY KEY)")
    with contextlib.closing(server.connect(server.driver_account)) as driver:
        cursor = driver.cursor()
        cursor.execute("INSERT INTO tpcc.t VALUES (1)")
        cursor.execute("UPDATE tpcc.t SET a = 2")
        cursor.execute("SELECT a FROM tpcc.t FOR UPDATE")
        assert cursor.fetchall() == ((2,),)
        cursor.execute("DELETE FROM tpcc.t")
        for statement in (
            "DROP TABLE tpcc.t",
            "CREATE TABLE tpcc.u (a INT)",
            "SELECT * FROM mysql.user",
            "SET GLOBAL max_connections = 5",
            "SHUTDOWN",
        ):
            with pytest.raises(pymysql.err.MySQLError, match="denied"):
                cursor.execute(statement)


def test_what_asks_over_the_socket_prepares_no_tls(
    server: ServerInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(*_: object, **__: object) -> None:
        raise AssertionError("this takes more processor time than most questions")

    monkeypatch.setattr("ssl.create_default_context", prepare)
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_USER()")
        assert cursor.fetchall() == ((f"{server.admin.user}@localhost",),)


def test_no_other_account_gets_in(server: ServerInstance) -> None:
    with pinned_socket(server.socket) as name:
        ways: list[dict[str, Any]] = [{"port": server.port}, {"unix_socket": name}]
        for how in ways:
            for user, password in (("root", ""), ("root", "root"), ("", ""), ("tpcc", "")):
                with pytest.raises(pymysql.err.OperationalError, match=r"denied|locked"):
                    pymysql.connect(host="127.0.0.1", user=user, password=password, **how)


def test_every_other_account_is_locked(server: ServerInstance) -> None:
    ours = ("advisor_admin", "tpcc")
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        if server.binary.flavour is Flavour.MARIADB:
            locked = "JSON_VALUE(priv, '$.account_locked') = 1"
            cursor.execute(f"SELECT user, {locked} FROM mysql.global_priv")
        else:
            cursor.execute("SELECT user, account_locked = 'Y' FROM mysql.user")
        rows = dict(cursor.fetchall())
    assert {user for user, is_locked in rows.items() if not is_locked} == set(ours)
    assert "" not in rows
