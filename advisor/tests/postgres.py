"""PostgreSQL servers of the tests: programs, user, and one data directory that is migrated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from advisor.tests.harness import ROOT, wait_for

#: What the role `advisor`, who owns the database `advisor`, says over the network.
OWNER_PASSWORD = "OWNER"


def postgres_programs() -> Path | None:
    """The folder of the newest PostgreSQL server; Debian puts none of them on PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _version(path: Path) -> float:
    return float(path.parts[-3])


def program(name: str) -> list[str]:
    """The first words of a command of PostgreSQL: as its own user if this is root."""
    programs = postgres_programs()
    assert programs is not None
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    return [*(user if os.geteuid() == 0 else []), str(programs / name)]


def give_to_postgres(*paths: Path) -> None:
    """PostgreSQL's user owns these from now on."""
    for path in paths if os.geteuid() == 0 else ():
        shutil.chown(path, "postgres", "postgres")


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder of PostgreSQL's user, for data and sockets, until the end of the block."""
    # A socket's path is short, and its user must be able to enter the folder.
    with tempfile.TemporaryDirectory(prefix="adv-pg-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        give_to_postgres(folder)
        yield folder


@contextmanager
def server(data: Path, sockets: Path, *, port: int | None = None) -> Iterator[str]:
    """A server until the end of the block; yields its URL through the socket, without a password.

    `sockets` has to be a folder of PostgreSQL's user with a short path; it gets the log as well.
    Without a port it listens nowhere else.
    """
    listens = "-clisten_addresses=" + ("localhost" if port else "")
    port = port or 5432
    url = f"postgres:///advisor?host={sockets}&port={port}&user=advisor"
    where = ["-D", str(data), "-F", "-c", f"unix_socket_directories={sockets}", listens]
    where.append(f"-cport={port}")
    with (sockets / "postgres.log").open("w") as log:
        process = subprocess.Popen([*program("postgres"), *where], stdout=log, stderr=log)

    def answers() -> bool:
        assert process.poll() is None, (sockets / "postgres.log").read_text()
        try:
            psycopg.connect(url, dbname="postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    try:
        wait_for(answers, 60, "PostgreSQL does not answer")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def make_empty(folder: Path) -> Path:
    """A data directory without a database of ours, no server on it.

    It lets everybody in through the socket. `advisor` is a superuser, as `postgres` is.
    """
    folder.mkdir(mode=0o755)
    give_to_postgres(folder)
    data = folder / "data"
    subprocess.run(
        [
            *(*program("initdb"), "--pgdata", str(data), "--no-sync", "--wal-segsize", "1"),
            *("--username", "postgres"),
            *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
            *("--encoding", "UTF8", "--locale", "C"),
        ],
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [*program("postgres"), "--single", "-F", "-D", str(data), "postgres"],
        input=f"create role advisor superuser login password '{OWNER_PASSWORD}'\n",
        check=True,
        capture_output=True,
        text=True,
    )
    return data


def make_migrated(folder: Path) -> Path:
    """As `make_empty`, with the advisor's tables in the database `advisor`.

    Two processes migrate it at the same time, as where two dashboards are started together; what
    they said is in `migrating-N.log`.
    """
    data = make_empty(folder)
    with server(data, folder) as url:
        with psycopg.connect(url, dbname="postgres", autocommit=True) as owner:
            owner.execute("create database advisor")
        with ExitStack() as stack:
            racing = [
                subprocess.Popen(
                    [sys.executable, "manage.py", "migrate", "--no-color"],
                    cwd=ROOT,
                    env=os.environ | {"ADVISOR_HOME": str(folder / "home"), "DATABASE_URL": url},
                    stdout=stack.enter_context((folder / f"migrating-{number}.log").open("w")),
                    stderr=subprocess.STDOUT,
                )
                for number in range(2)
            ]
            statuses = [process.wait() for process in racing]
    assert statuses == [0, 0], what_migrating_said(folder)
    return data


def what_migrating_said(folder: Path) -> list[str]:
    """Of each process that took part."""
    return [path.read_text() for path in sorted(folder.glob("migrating-*.log"))]
