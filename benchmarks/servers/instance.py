"""One running server: started on loopback with throw-away accounts, always ended."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket as sockets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.errors import EmulationUnavailable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers import errorlog
from benchmarks.servers.accounts import ADMIN_USER, DRIVER_USER, Account, account_sql, new_account
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.confinement import Confinement
from benchmarks.servers.failures import describe_exit, explain_failed_start, oom_kills
from benchmarks.servers.options import InstancePaths, render_config, write_private
from benchmarks.servers.pagecache import forget_cached
from benchmarks.servers.privileges import (
    check_reachable,
    clean_environment,
    give,
    launcher,
    server_user,
)
from benchmarks.servers.process import command_line, find_by_argument, kill_checked
from benchmarks.servers.registry import MARK, Record, defaults_argument, register

log = logging.getLogger(__name__)

SOCKET_LIMIT = 107  # bytes of sockaddr_un.sun_path, less its terminating zero
PORT_ATTEMPTS = 4  # the first and three more
STOP_S = 30.0
FAILED_STOP_S = 10.0  # after an error or Ctrl-C nobody keeps the data directory
SLOW_STOP_S = 900.0  # a slow shutdown merges and purges everything
OOM_SCORE_ADJ = "700"
_POLL_S = 0.05
_ACCEPTS_CONNECTIONS = "00010000"  # __SO_ACCEPTCON among the flags in /proc/net/unix


class ServerInstance:
    """A running server and the ways to talk to it."""

    def __init__(
        self,
        binary: ServerBinary,
        paths: InstancePaths,
        port: int,
        process: subprocess.Popen[bytes],
        admin: Account,
        driver_account: Account,
        confinement: Confinement | None = None,
    ) -> None:
        self.binary = binary
        self.paths = paths
        self.port = port
        self.admin = admin
        self.driver_account = driver_account
        self.killed_by_us = False  # set before any signal of ours
        self.confinement = confinement
        self.oom_kills_before = oom_kills()
        self._process = process

    def __repr__(self) -> str:
        return f"<ServerInstance {self.binary.version_text} pid {self.pid} port {self.port}>"

    @property
    def pid(self) -> int:
        """The server's own pid: every wrapper before it has exec'ed."""
        return self._process.pid

    @property
    def socket(self) -> Path:
        """The Unix socket; its directory is private to us and the server."""
        return self.paths.socket

    @property
    def exit_status(self) -> int | None:
        """As subprocess has it: None while alive, negative for the signal that ended it."""
        return self._process.poll()

    def alive(self) -> bool:
        """Whether the process still runs (it may not answer)."""
        return self._process.poll() is None

    def connect(self, account: Account | None = None, **kw: Any) -> Connection[Cursor]:
        """A connection over the socket in autocommit mode, as the administrator by default.

        `kw` goes to pymysql.connect. Raises pymysql.err.OperationalError.
        """
        if not _listens(self.socket):
            # PyMySQL would find out too, but leaves its socket to the garbage collector.
            raise pymysql.err.OperationalError(2003, f"nothing listens on {self.socket}")
        account = account or self.admin
        arguments: dict[str, Any] = {"autocommit": True, "charset": "utf8mb4", **kw}
        return pymysql.connect(
            unix_socket=str(self.socket),
            user=account.user,
            password=account.password,
            **arguments,
        )

    def variables(self) -> dict[str, str]:
        """SHOW GLOBAL VARIABLES, names in lower case."""
        return {name.lower(): value for name, value in self._show("VARIABLES")}

    def status(self) -> dict[str, int]:
        """The integer-valued counters of SHOW GLOBAL STATUS, names as the server has them."""
        return {
            name: int(value)
            for name, value in self._show("STATUS")
            if value.removeprefix("-").isdigit()
        }

    def error_log_tail(self, lines: int = 30) -> str:
        """The end of the error log; still readable after the server has ended."""
        return "\n".join(self.log_lines(lines))

    def log_lines(self, lines: int = 2000) -> list[str]:
        """The last lines of console and error log, redacted.

        The console has what the server says before it opens its error log.
        """
        found = errorlog.read_tail(self.paths.console, lines)
        found += errorlog.read_tail(self.paths.error_log, lines)
        secrets = (self.admin.password, self.driver_account.password)
        return [errorlog.redact(line, *secrets) for line in found[-lines:]]

    def _show(self, what: str) -> list[tuple[str, str]]:
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute(f"SHOW GLOBAL {what}")
            return [(str(name), str(value)) for name, value in cursor.fetchall()]


@contextlib.contextmanager
def running_server(
    binary: ServerBinary,
    *,
    data_dir: Path,
    run_dir: Path,
    registry: Path,
    log_dir: Path | None = None,
    options: Mapping[str, str | None],
    deadline_s: float = 120,
    should_stop: Callable[[], bool] = lambda: False,
    fast_shutdown: bool = True,
    confinement: Confinement | None = None,
) -> Iterator[ServerInstance]:
    """Run `binary` on `data_dir` for the length of the block.

    `options` are the candidate's knobs (value None: a bare option; log_bin takes ON or OFF).
    `run_dir` is made; my.cnf and the error log stay in it for the caller to read or delete.
    With `fast_shutdown` the data directory is left as after a crash, to be thrown away; without,
    it is purged and flushed completely, and RunFailed is raised when that did not succeed.
    With a `confinement` (benchmarks.emulation) the server gets its limits from the first
    instruction until it is told to stop, on files that are not in the page cache.
    The block must be left by the thread that entered it: the server dies with that thread.

    Raises ValueError when `options` reach for what is ours, DeviceUnusable when the server's
    user cannot write in a directory, NoServerUser, EmulationUnavailable when it cannot be put
    into the `confinement`, and RunFailed: NO_START, OUT_OF_MEMORY or DISK_FULL when the server
    exits, TIMED_OUT when it lives and never answers, CANCELLED when `should_stop`.
    """
    data_dir, run_dir = data_dir.absolute(), run_dir.absolute()
    log_dir = log_dir.absolute() if log_dir is not None else None
    run_dir.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as afterwards:
        socket, socket_dir = _socket_place(run_dir)
        if socket_dir is not None:
            afterwards.callback(shutil.rmtree, socket_dir, ignore_errors=True)
        paths = InstancePaths(data_dir=data_dir, run_dir=run_dir, socket=socket, log_dir=log_dir)
        record = register(
            registry,
            data_dir=data_dir,
            run_dir=run_dir,
            socket_dir=socket_dir,
            log_dir=log_dir,
        )
        afterwards.callback(record.remove)
        afterwards.callback(_sweep, paths)
        _prepare(binary, paths, options, socket_dir)
        if confinement is not None:
            for folder in (paths.data_dir, paths.log_dir):
                if folder is not None:
                    forget_cached(folder)
        instance = _start(
            binary, paths, record, options, fast_shutdown, deadline_s, should_stop, confinement
        )
        patience_s = FAILED_STOP_S
        try:
            yield instance
            patience_s = STOP_S if fast_shutdown else SLOW_STOP_S
        finally:
            _stop(instance, patience_s)
        if not fast_shutdown and instance.exit_status != 0:
            raise RunFailed(
                Outcome.CRASHED,
                "the server did not shut down cleanly, so its data directory cannot be kept "
                f"({describe_exit(instance.exit_status)})",
                log_tail="\n".join(errorlog.meaningful(instance.log_lines())),
            )


def _sweep(paths: InstancePaths) -> None:
    """Leave no secret and no process, even when an interrupt came between start and note."""
    argument = defaults_argument(paths.run_dir)
    for pid in find_by_argument(argument):
        kill_checked(pid, argument)
    paths.init_file.unlink(missing_ok=True)


def _socket_place(run_dir: Path) -> tuple[Path, Path | None]:
    """The socket's path, and the directory made for it when `run_dir` is too long a name."""
    socket = run_dir / "mysqld.sock"
    if len(os.fsencode(socket)) <= SOCKET_LIMIT:
        return socket, None
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > SOCKET_LIMIT - len("/advisor-12345678/mysqld.sock"):
        base = "/tmp"  # noqa: S108  mkdtemp makes the name and its mode safe
    socket_dir = Path(tempfile.mkdtemp(prefix="advisor-", dir=base))
    (socket_dir / MARK).touch()
    return socket_dir / "mysqld.sock", socket_dir


def _prepare(
    binary: ServerBinary,
    paths: InstancePaths,
    options: Mapping[str, str | None],
    socket_dir: Path | None,
) -> None:
    render_config(binary, paths, port=1, options=options, fast_shutdown=True)  # refuse early
    user = server_user()
    paths.run_dir.chmod(0o700)
    paths.tmp_dir.mkdir(exist_ok=True)
    for old in (paths.error_log, paths.console):
        old.unlink(missing_ok=True)
    for folder in (paths.run_dir, paths.data_dir, paths.log_dir, socket_dir):
        if folder is not None:
            give(folder, user)
            check_reachable(folder, user)


def _start(
    binary: ServerBinary,
    paths: InstancePaths,
    record: Record,
    options: Mapping[str, str | None],
    fast_shutdown: bool,
    deadline_s: float,
    should_stop: Callable[[], bool],
    confinement: Confinement | None,
) -> ServerInstance:
    deadline = time.monotonic() + deadline_s
    for attempt in range(1, PORT_ATTEMPTS + 1):
        port = free_port()
        text = render_config(
            binary, paths, port=port, options=options, fast_shutdown=fast_shutdown
        )
        instance = _spawn(binary, paths, port, text, confinement)
        try:
            record.started(instance.pid)
            _wait_until_ready(instance, deadline, deadline_s, should_stop)
            if confinement is not None and not confinement.holds(instance.pid):
                raise EmulationUnavailable(f"the server runs outside of {confinement.label}")
            return instance
        except BaseException as error:
            _stop(instance, FAILED_STOP_S)
            taken = errorlog.matching(instance.log_lines(), errorlog.PORT_TAKEN)
            if not (isinstance(error, RunFailed) and taken) or attempt == PORT_ATTEMPTS:
                raise
            log.warning("port %d was taken before the server could have it; trying another", port)
            paths.error_log.unlink(missing_ok=True)
        finally:
            paths.init_file.unlink(missing_ok=True)
    raise AssertionError("unreachable")


def _spawn(
    binary: ServerBinary,
    paths: InstancePaths,
    port: int,
    text: str,
    confinement: Confinement | None,
) -> ServerInstance:
    user = server_user()
    entry = confinement.entry_words if confinement is not None else []  # before root is given up
    admin, driver = new_account(ADMIN_USER), new_account(DRIVER_USER)
    write_private(paths.config, text)
    write_private(paths.init_file, account_sql(binary, admin, driver))
    give(paths.config, user)
    give(paths.init_file, user)
    with paths.console.open("wb") as console:
        process = subprocess.Popen(
            [*entry, *launcher(user), str(binary.path), defaults_argument(paths.run_dir)],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            env=clean_environment(),
            cwd=paths.run_dir,
            start_new_session=True,  # Ctrl-C in a terminal is for us, not for the server
            umask=0o027,
        )
    with contextlib.suppress(OSError):  # short of memory, the kernel must not take the worker
        Path(f"/proc/{process.pid}/oom_score_adj").write_text(OOM_SCORE_ADJ)
    return ServerInstance(binary, paths, port, process, admin, driver, confinement)


def _wait_until_ready(
    instance: ServerInstance,
    deadline: float,
    deadline_s: float,
    should_stop: Callable[[], bool],
) -> None:
    refused = ""
    while True:
        if not instance.alive():
            raise explain_failed_start(instance)
        if should_stop():
            raise RunFailed(Outcome.CANCELLED, "cancelled while the server was starting")
        try:
            # The driver's first login is made here, over the socket: it fills the server's
            # password cache, so that every client library can log in over plain TCP.
            for account in (instance.admin, instance.driver_account):
                instance.connect(account, connect_timeout=2, read_timeout=5).close()
            return
        except pymysql.err.OperationalError as error:
            refused = errorlog.redact(str(error), instance.admin.password)
        if time.monotonic() > deadline:
            raise RunFailed(
                Outcome.TIMED_OUT,
                f"the server runs but did not answer within {deadline_s:.0f} s ({refused})",
                log_tail="\n".join(errorlog.meaningful(instance.log_lines())),
            )
        time.sleep(_POLL_S)


def _stop(instance: ServerInstance, patience_s: float) -> None:
    """SIGTERM, wait, SIGKILL; the process is our child, so its pid is its own until waited for."""
    process = instance._process
    if instance.confinement is not None:
        instance.confinement.lift()  # else it may take hours, and a SIGKILL waits for the disk
    argument = defaults_argument(instance.paths.run_dir)
    for number, patience in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 30.0)):
        words = command_line(process.pid)
        if process.poll() is not None or (words and argument not in words):
            break
        instance.killed_by_us = True
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            return
        log.warning("server %d did not end within %.0f s", process.pid, patience)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)


def _listens(path: Path) -> bool:
    """Whether a Unix socket of that name takes connections, without making one."""
    for line in Path("/proc/net/unix").read_text(errors="replace").splitlines():
        fields = line.split(maxsplit=7)
        if fields[3] == _ACCEPTS_CONNECTIONS and fields[7:] == [str(path)]:
            return True
    return False


def free_port() -> int:
    """A TCP port of 127.0.0.1 that is free at this moment."""
    with sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
