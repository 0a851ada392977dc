"""Backup and restore of everything that cannot be made again, while the advisor works.

SQLite is copied by its own online backup, PostgreSQL table by table in one snapshot: both are
the database at one moment, and nobody waits for them.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DataError, Error, IntegrityError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from advisor.upkeep.archive import (
    BackupFailed,
    Manifest,
    add_home,
    reading,
    require_parts,
    restore_home,
    write_manifest,
    writing,
)
from advisor.upkeep.sqlite_copy import copy_sqlite, fault_of, opened_sqlite, replace_sqlite
from benchmarks.jobs.presence import seen
from benchmarks.jobs.versions import write_release
from benchmarks.models import Device, Host, Run
from tuning.models import Study

_SQLITE: Final = "database/db.sqlite3"
_TABLES: Final = "database/tables/"
#: How much of a table is read or written at a time.
_CHUNK: Final = 1 << 20


def back_up(path: Path) -> None:
    """Write everything to a new file. Raises BackupFailed, DeviceUnusable."""
    with _failing_as("not_written"), writing(path, _size()) as archive:
        manifest = Manifest.of_database()
        write_manifest(archive, manifest)
        if connection.vendor == "sqlite":
            with tempfile.TemporaryDirectory(dir=settings.PRIVATE_DIR) as folder:
                copy = Path(folder) / "db.sqlite3"
                copy_sqlite(opened_sqlite(), copy)
                if why := fault_of(copy, manifest.migrations):
                    text = f"the database {why}: a backup of it could not be restored"
                    raise BackupFailed("not_written", text)
                archive.write(copy, _SQLITE)
        else:
            _export_tables(archive)
        add_home(archive)


def restore(path: Path, *, force: bool) -> int:
    """Make the database what it was; the number of files of the home that were missing.

    The database must have the tables of this version, and nobody may migrate it meanwhile. All
    of it is replaced or nothing. Raises BackupFailed: in_use while a worker runs, not_empty unless
    `force`, version_differs, other_database, damaged, not_found, not_restored; DeviceUnusable: no
    room beside the disk's reserve.
    """
    with reading(path) as (archive, manifest), _failing_as("not_restored"):
        _check_target(force=force)
        if connection.vendor == "sqlite":
            require_parts(archive, [_SQLITE])
            with tempfile.TemporaryDirectory(dir=settings.PRIVATE_DIR) as folder:
                copy = Path(archive.extract(_SQLITE, folder))
                if why := fault_of(copy, manifest.migrations):
                    raise BackupFailed("damaged", f"the database in the backup {why}")
                replace_sqlite(copy)
        else:
            with transaction.atomic():
                _import_tables(archive)
        write_release()
        return restore_home(archive)


@contextmanager
def _failing_as(code: str) -> Iterator[None]:
    """A database that refuses, such as for a full disk, is no bug of ours; rows that it cannot
    read come from the file. Raises BackupFailed.
    """
    try:
        with connection.wrap_database_errors:
            yield
    except (DataError, IntegrityError) as error:
        raise BackupFailed("damaged", f"rows of the backup: {error}") from error
    except Error as error:
        raise BackupFailed(code, f"the database says: {error}") from error


def _check_target(*, force: bool) -> None:
    working = Host.objects.filter(seen()).exclude(worker="")  # empty: it has left
    if busy := working.values_list("name", flat=True).first():
        raise BackupFailed(
            "in_use", f"the worker of {busy} is running: stop it, and the web server"
        )
    full = [model for model in (Study, Run, Device, get_user_model()) if model.objects.exists()]
    if full and not force:
        names = ", ".join(str(model._meta.verbose_name_plural) for model in full)
        raise BackupFailed(
            "not_empty", f"this database has {names}: --force replaces all of it by the backup"
        )


def _size() -> int:
    """About how large the database is, in bytes; its copy is no larger."""
    name = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor == "sqlite":
        return 2 * name.stat().st_size if name.is_file() else 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def _export_tables(archive: zipfile.ZipFile) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for table in _tables(cursor):
            with (
                archive.open(f"{_TABLES}{table}", "w", force_zip64=True) as file,
                cursor.copy(
                    f"COPY {_quoted(table)} ({_columns(cursor, table)}) TO STDOUT"
                ) as rows,
            ):
                for part in rows:
                    file.write(part)


def _import_tables(archive: zipfile.ZipFile) -> None:
    with connection.cursor() as cursor:
        tables = _tables(cursor)
        require_parts(archive, [f"{_TABLES}{table}" for table in tables])
        cursor.execute(f"TRUNCATE {', '.join(map(_quoted, tables))}")
        for table in tables:
            into = f"COPY {_quoted(table)} ({_columns(cursor, table)}) FROM STDIN"
            with archive.open(f"{_TABLES}{table}") as file, cursor.copy(into) as rows:
                while part := file.read(_CHUNK):
                    rows.write(part)
        _raise_sequences(cursor)


def _raise_sequences(cursor: Any) -> None:
    """New rows get numbers of their own.

    A sequence is outside of the transaction: it is never lowered, so that it suits the rows that
    were there as well if they stay.
    """
    for one in connection.introspection.sequence_list():
        sequence, table, column = (_quoted(one[key]) for key in ("name", "table", "column"))
        newest = f"GREATEST(MAX({column}), (SELECT last_value FROM {sequence}))"  # noqa: S608
        cursor.execute(f"SELECT setval(%s, {newest}) FROM {table}", [sequence])  # noqa: S608


def _tables(cursor: Any) -> list[str]:
    """All but the list of migrations, which is the same on both sides."""
    kept = MigrationRecorder.Migration._meta.db_table
    return sorted(set(connection.introspection.table_names(cursor)) - {kept})


def _columns(cursor: Any, table: str) -> str:
    """In an order that does not depend on the migrations by which a table was made."""
    described = connection.introspection.get_table_description(cursor, table)
    return ", ".join(_quoted(name) for name in sorted(column.name for column in described))


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
