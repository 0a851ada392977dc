"""The files of one instance: where they are, and who may write them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import IO

from benchmarks.ownership import delete, give
from benchmarks.processes.users import server_user


class InstancePaths:
    """The places of one instance's files; every path is absolute.

    `run_dir` is ours: the server can neither replace its my.cnf nor put a link where we write.
    Only `own_dir` in it is the server's. `log_dir` is for the redo log.
    """

    def __init__(
        self, data_dir: Path, run_dir: Path, log_dir: Path | None = None, socket_name: str = ""
    ) -> None:
        self.data_dir, self.run_dir, self.log_dir = data_dir, run_dir, log_dir
        self.config = run_dir / "my.cnf"
        self.init_file = run_dir / "init.sql"  # makes the accounts while the server starts
        self.console = run_dir / "console.log"  # output before the server opens its error log
        self.certificate = run_dir / "server-cert.pem"
        self.key = run_dir / "server-key.pem"
        self.rows_dir = run_dir / "rows"  # of data that is being loaded
        self.own_dir = run_dir / "own"
        self.error_log = self.own_dir / "error.log"
        self.tmp_dir = self.own_dir / "tmp"
        self.socket = self.own_dir / (socket_name or f"{secrets.token_hex(4)}.sock")
        # From where mysqld runs: an absolute path may be longer than 107 bytes of sockaddr_un.
        self.socket_from_data = os.path.relpath(self.socket, data_dir)


def make_run_dir(paths: InstancePaths) -> None:
    """Make a run's folder as it is before a server is started, without files of an earlier one."""
    paths.run_dir.chmod(0o700 if server_user() is None else 0o711)
    delete(paths.console)
    delete(paths.own_dir)
    delete(paths.rows_dir)
    paths.rows_dir.mkdir()
    if (user := server_user()) is not None:
        os.chown(paths.rows_dir, -1, user.gid)
    paths.rows_dir.chmod(0o750)  # MySQL warns of a folder that all may enter
    paths.own_dir.mkdir(mode=0o700)
    paths.tmp_dir.mkdir(mode=0o700)
    give(paths.own_dir)


def open_console(paths: InstancePaths) -> IO[bytes]:
    """Open the file that takes what the server prints."""
    return open(paths.console, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def write_private(path: Path, text: str) -> None:
    """Write a file, in a folder of ours, that only the server's user can read."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if (user := server_user()) is not None:
            os.fchown(descriptor, user.uid, user.gid)
        file.write(text)
