"""Backup and restore of everything that cannot be made again, while the advisor works.

SQLite is copied by its own online backup, PostgreSQL table by table in one snapshot: both are
the database at one moment, and nobody waits for them.
"""

from __future__ import annotations

import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.color import no_style
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
from benchmarks.jobs.presence import seen
from benchmarks.jobs.versions import write_release
from benchmarks.models import Device, Host, Run
from tuning.models import Study

_SQLITE: Final = "database/db.sqlite3"
_TABLES: Final = "database/tables/"
_SQLITE_COLUMNS: Final = (
    "SELECT tables.name, columns.name"
    " FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns"
    " WHERE tables.type = 'table'"
)
#: Triggers and views, of which the advisor has none.
_SQLITE_CODE: Final = "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
#: How much of a table is read or written at a time.
_CHUNK: Final = 1 << 20


def back_up(path: Path) -> None:
    """Write everything to a new file. Raises BackupFailed, DeviceUnusable."""
    with _failing_as("not_written"), writing(path, _size()) as archive:
        write_manifest(archive, Manifest.of_database())
        if connection.vendor == "sqlite":
            with tempfile.TemporaryDirectory(dir=settings.PRIVATE_DIR) as folder:
                copy = Path(folder) / "db.sqlite3"
                copy_sqlite(_sqlite(), copy)
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
                _check_sqlite(copy, manifest)
                _replace_sqlite(copy)
        else:
            with transaction.atomic():
                _import_tables(archive)
        write_release()
        return restore_home(archive)


def copy_sqlite(source: sqlite3.Connection, target: Path) -> None:
    """Copy a database that others write to, as it is at one moment."""
    copied = sqlite3.connect(target)
    try:
        source.backup(copied)
    finally:
        copied.close()


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


def _check_sqlite(copy: Path, manifest: Manifest) -> None:
    """Raise BackupFailed unless it is whole, what the manifest says, and has all our tables."""
    source = sqlite3.connect(copy)
    try:
        found = source.execute("PRAGMA integrity_check").fetchone()
        more = source.execute(_SQLITE_CODE).fetchone()
        migrations = source.execute("SELECT app, name FROM django_migrations").fetchall()
        columns = set(source.execute(_SQLITE_COLUMNS))
    except sqlite3.Error as error:
        raise BackupFailed("damaged", f"the database in the backup: {error}") from error
    finally:
        source.close()
    if found != ("ok",):
        raise BackupFailed("damaged", f"the database in the backup is damaged: {found}")
    if more is not None:
        raise BackupFailed("damaged", f"the database in the backup has a {more[0]}, {more[1]!r}")
    if sorted(map(list, migrations)) != manifest.migrations:
        raise BackupFailed("damaged", "the database in the backup is not of its manifest")
    # What the list of migrations says has not to be so, and nothing is looked at afterwards.
    if missing := sorted(_needed_columns() - columns):
        raise BackupFailed("damaged", f"the database in the backup lacks {'.'.join(missing[0])}")


def _needed_columns() -> set[tuple[str, str]]:
    """All that this version reads, as (table, column)."""
    return {
        (model._meta.db_table, field.column)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
        if field.column
    }


def _replace_sqlite(copy: Path) -> None:
    source = sqlite3.connect(copy)
    try:
        source.backup(_sqlite())
    finally:
        source.close()


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


def _sqlite() -> sqlite3.Connection:
    connection.ensure_connection()
    found = connection.connection
    if not isinstance(found, sqlite3.Connection):
        raise TypeError(f"not a connection to SQLite: {found}")
    return found


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
        models = apps.get_models(include_auto_created=True)
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


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
