"""One running server and the ways to talk to it."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.emulation.device import CgroupLimits
from benchmarks.processes.child import Child
from benchmarks.processes.users import server_user, uid_of
from benchmarks.servers import errorlog
from benchmarks.servers.accounts import Account
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.paths import InstancePaths
from benchmarks.servers.reach import Reach

log = logging.getLogger(__name__)

_SHOW_S = 60  # a list of a few hundred lines, on a busy server


@dataclass(eq=False, repr=False)
class ServerInstance:
    """A running server and the ways to talk to it.

    `reach` None: on loopback only. `certificate` is PEM, for clients that are to trust it; ""
    without TLS. `stopped_by_us` is set before any signal of ours, `killed_by_us` before SIGKILL.
    `start_s` is how long mysqld took to start.
    """

    binary: ServerBinary
    paths: InstancePaths
    port: int
    process: Child
    admin: Account
    driver_account: Account
    resource_limits: CgroupLimits | None = None
    reach: Reach | None = None
    certificate: str = ""
    stopped_by_us: bool = False
    killed_by_us: bool = False
    start_s: float = 0.0

    def __repr__(self) -> str:
        return f"<ServerInstance {self.binary.version_text} pid {self.pid} port {self.port}>"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def socket(self) -> Path:
        return self.paths.socket

    @property
    def exit_status(self) -> int | None:
        """The exit status as in subprocess: None while alive, negative for a signal."""
        return self.process.status

    def alive(self) -> bool:
        """Whether the process still runs (it may not answer)."""
        return self.process.status is None

    def stop(self, patience_s: float) -> None:
        """SIGTERM, wait, SIGKILL; it is our child, so its pid is its own until waited for."""
        if self.resource_limits is not None:
            self.resource_limits.lift()  # under them a stop may take hours, even by SIGKILL
        for number, patience in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 30.0)):
            if not self.alive():
                break
            self.stopped_by_us = True
            self.killed_by_us = number is signal.SIGKILL
            self.process.send(number)
            if self.process.wait(patience) is not None:
                return
            log.warning("server %d did not end within %.0f s", self.pid, patience)
        if not self.stopped_by_us:
            log.warning("server %d ended before it was asked to", self.pid)

    def kill(self) -> None:
        """End it at once; its data directory is no longer needed."""
        self.stopped_by_us = self.killed_by_us = True
        self.process.send(signal.SIGKILL)

    def connect(self, account: Account | None = None, **kw: Any) -> Connection[Cursor]:
        """Connect over the socket in autocommit mode, as the administrator by default.

        `kw` goes to pymysql.connect. Raises pymysql.err.OperationalError.
        """
        account = account or self.admin
        arguments: dict[str, Any] = {"autocommit": True, "charset": "utf8mb4", **kw}
        with pinned_socket(self.socket) as name:
            return pymysql.connect(
                unix_socket=name,
                ssl_disabled=True,  # to prepare it takes 20 ms of CPU time beside the measured
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

    def _show(self, what: str) -> list[tuple[str, str]]:
        with (
            contextlib.closing(self.connect(read_timeout=_SHOW_S)) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(f"SHOW GLOBAL {what}")
            return [(str(name), str(value)) for name, value in cursor.fetchall()]

    def log_lines(self, lines: int = 2000) -> list[str]:
        """The last lines of console and error log, also after the server has ended.

        Without our passwords: a server quotes the statement that it could not parse.
        """
        found = errorlog.said(self.paths, lines)
        for account in (self.admin, self.driver_account):
            found = [line.replace(account.password, "***") for line in found]
        return found

    def error_log_tail(self, lines: int = 30) -> str:
        """The end of `log_lines`."""
        return "\n".join(self.log_lines(lines))


@contextlib.contextmanager
def pinned_socket(path: Path) -> Iterator[str]:
    """Give a short name of this very socket, which is the server's.

    connect() would follow a link, and takes no path longer than 107 bytes. Raises
    pymysql.err.OperationalError.
    """
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise pymysql.err.OperationalError(2003, f"{path}: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != uid_of(server_user()):
            raise pymysql.err.OperationalError(2003, f"{path} is not a socket of the server")
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
