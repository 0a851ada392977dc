"""Who brings the database's tables up to date: one process at a time, and never a worker.

`manage.py migrate` and `serve` do it. `advise` and the small commands do it where the database is
a file of this home; a database that several hosts share is migrated where the dashboard runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import Error, connection

from advisor.errors import DatabaseUnreachable, VersionDiffers
from benchmarks.jobs.locks import host_lock
from benchmarks.jobs.versions import difference, is_released, tables_differ

#: The number of PostgreSQL's advisory lock for migrating. Nobody else uses it.
_LOCK = 0x6F6C7470


def migrate() -> None:
    """Bring the tables up to date. Raises DatabaseUnreachable; VersionDiffers if they are newer
    than this code.
    """
    check_reachable()
    call_command("migrate", verbosity=0)
    if problem := tables_differ():
        raise VersionDiffers("version_differs", problem)


def prepare_database(*, runs_a_worker: bool = False) -> None:
    """Bring the tables of this home up to date, or see that those of a fleet are.

    `runs_a_worker`: the database is to be known as of this version, for the worker to come.
    Raises DatabaseUnreachable, VersionDiffers.
    """
    check_reachable()
    if connection.vendor == "sqlite":
        # To migrate what is up to date would take a second.
        if tables_differ() or (runs_a_worker and not is_released()):
            migrate()
    elif problem := difference():
        raise VersionDiffers("version_differs", problem)


def check_reachable() -> None:
    """Raise DatabaseUnreachable with what the database, or the client, says."""
    try:
        connection.ensure_connection()
    except Error as error:
        said = " ".join(str(error).split())
        raise DatabaseUnreachable(
            "database_unreachable", f"the database of DATABASE_URL cannot be opened: {said}"
        ) from error


@contextmanager
def migrating_alone() -> Iterator[None]:
    """Wait until no other process migrates this database, and keep others from it.

    The lock goes with the process: PostgreSQL's with its connection, that of a file with it.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
    elif (name := str(connection.settings_dict["NAME"])).startswith(("file:", ":")):
        yield  # in memory: nobody else's
    else:
        with host_lock(Path(f"{name}.migrating")):
            yield
