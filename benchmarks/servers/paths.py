"""The files of one instance: where they are, and who may write them."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import give
from benchmarks.processes.users import server_user

OWN = "own"  # the folder that is the server's


@dataclass(frozen=True)
class InstancePaths:
    """Where one instance keeps what; every path absolute.

    `run_dir` is ours: the server can neither replace its my.cnf nor put a link where we write.
    """

    data_dir: Path
    run_dir: Path
    log_dir: Path | None = None
    socket_name: str = field(default_factory=lambda: f"{secrets.token_hex(4)}.sock")

    @property
    def config(self) -> Path:
        """The file named by --defaults-file."""
        return self.run_dir / "my.cnf"

    @property
    def init_file(self) -> Path:
        """SQL that makes the accounts; exists only while the server starts."""
        return self.run_dir / "init.sql"

    @property
    def own_dir(self) -> Path:
        """Folder for files outside of the data directory: the server's only part of `run_dir`."""
        return self.run_dir / OWN

    @property
    def error_log(self) -> Path:
        """The server's error log."""
        return self.own_dir / "error.log"

    @property
    def console(self) -> Path:
        """File for the output before the server opens its error log; we open it."""
        return self.run_dir / "console.log"

    @property
    def socket(self) -> Path:
        """The server's Unix socket; its folder is private to us and the server."""
        return self.own_dir / self.socket_name

    @property
    def socket_from_data(self) -> str:
        """The socket's path from the data directory, where mysqld runs.

        An absolute path may be longer than the 107 bytes of sockaddr_un.
        """
        return os.path.relpath(self.socket, self.data_dir)

    @property
    def certificate(self) -> Path:
        """The certificate of a server that is reached over TLS."""
        return self.run_dir / "server-cert.pem"

    @property
    def key(self) -> Path:
        """Its private key."""
        return self.run_dir / "server-key.pem"

    @property
    def tmp_dir(self) -> Path:
        """The server's temporary files, and the only place LOAD DATA may read on MariaDB."""
        return self.own_dir / "tmp"


def make_run_dir(paths: InstancePaths) -> None:
    """Make a run's folder as it is before a server is started, without files of an earlier one."""
    paths.run_dir.chmod(0o700 if server_user() is None else 0o711)
    delete(paths.console)
    delete(paths.own_dir)
    paths.own_dir.mkdir(mode=0o700)
    paths.tmp_dir.mkdir(mode=0o700)
    give(paths.own_dir)


def open_console(paths: InstancePaths) -> IO[bytes]:
    """The file that takes what the server prints."""
    return open(paths.console, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def write_private(path: Path, text: str) -> None:
    """Write a file, in a folder of ours, that only the server's user can read."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        if (user := server_user()) is not None:
            os.fchown(descriptor, user.uid, user.gid)
        file.write(text)
