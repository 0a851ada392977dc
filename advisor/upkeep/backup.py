"""Copy everything that cannot be made again into a new folder, while the advisor works.

The databases copy themselves, as they are at one moment: SQLite with VACUUM INTO, PostgreSQL with
pg_dump. docs/how-to/backup.md says how to restore a copy.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from psycopg.conninfo import make_conninfo

from advisor.errors import AdvisorError
from benchmarks.storage.identify import check_usable

#: Settings of the connection that pg_dump is told, in addition to the options of TLS.
_WHERE = ("host", "port", "user", "dbname", "service", "passfile")


class BackupFailed(AdvisorError):
    """A backup cannot be made: already_there, no_pg_dump or not_written."""


def back_up(folder: Path) -> None:
    """Make the folder, which only this user can read. A failure leaves nothing of it.

    Raises BackupFailed; DeviceUnusable: no room beside the disk's reserve.
    """
    if folder.exists():
        raise BackupFailed("already_there", f"{folder} exists: name another folder")
    check_usable(folder.absolute().parent, max(_size(), 1))
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700)
    try:
        if connection.vendor == "sqlite":
            _copy_sqlite(draft / "db.sqlite3")
        else:
            _dump_postgresql(draft / "database.dump")
        _copy_home(draft)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy_sqlite(target: Path) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(target)])
    except Error as error:
        raise BackupFailed("not_written", f"the database says: {error}") from error


def _dump_postgresql(target: Path) -> None:
    """The password goes through the environment, where other users do not see it."""
    program = shutil.which("pg_dump")
    if program is None:
        text = "pg_dump is not installed: install it, or call it where PostgreSQL runs"
        raise BackupFailed("no_pg_dump", text)
    given = connection.get_connection_params()
    where = {name: given[name] for name in given if name in _WHERE or name.startswith("ssl")}
    words = [program, "--format=custom", "--no-owner", f"--file={target}"]
    done = subprocess.run(
        [*words, f"--dbname={make_conninfo(**where)}"],
        env={**os.environ, "PGPASSWORD": given.get("password", "")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupFailed("not_written", f"pg_dump says: {' '.join(done.stderr.split())}")


def _copy_home(draft: Path) -> None:
    """The secret key, so that log-ins and signatures stay valid, and what was recommended."""
    key, recommended = settings.PRIVATE_DIR / "secret-key", settings.HOME / "recommended"
    if key.is_file():
        shutil.copy2(key, draft)
    if recommended.is_dir():
        shutil.copytree(recommended, draft / "recommended")


def _size() -> int:
    """About how large the database is, in bytes; its copy is no larger."""
    name = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor == "sqlite":
        return name.stat().st_size if name.is_file() else 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])
