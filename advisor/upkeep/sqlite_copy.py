"""A database of SQLite as a file: copied while others write, judged, put in place of ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from django.apps import apps
from django.db import connection
from django.db.models import ForeignKey

_SQLITE_COLUMNS: Final = (
    "SELECT tables.name, columns.name"
    " FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns"
    " WHERE tables.type = 'table'"
)
_SQLITE_KEYS: Final = (
    'SELECT tables.name, keys."from", keys."table", keys."to"'
    " FROM sqlite_master AS tables, pragma_foreign_key_list(tables.name) AS keys"
    " WHERE tables.type = 'table'"
)
#: Triggers and views, of which the advisor has none.
_SQLITE_CODE: Final = "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')"


def opened_sqlite() -> sqlite3.Connection:
    """The connection of this thread, below Django's."""
    connection.ensure_connection()
    found = connection.connection
    if not isinstance(found, sqlite3.Connection):
        raise TypeError(f"not a connection to SQLite: {found}")
    return found


def copy_sqlite(source: sqlite3.Connection, target: Path) -> None:
    """Copy a database that others write to, as it is at one moment."""
    copied = sqlite3.connect(target)
    try:
        source.backup(copied)
    finally:
        copied.close()


def replace_sqlite(copy: Path) -> None:
    """Have our database be what that file is."""
    source = sqlite3.connect(copy)
    try:
        source.backup(opened_sqlite())
    finally:
        source.close()


def fault_of(copy: Path, listed: list[list[str]]) -> str:
    """Why a database of SQLite cannot be ours, such as "is damaged: ..."; empty if it can.

    It has to be whole, have these migrations, all our tables with their foreign keys, and no row
    that names one which is not there: what replaces a database is not checked by it.
    """
    source = sqlite3.connect(copy)
    try:
        found = source.execute("PRAGMA integrity_check").fetchone()
        more = source.execute(_SQLITE_CODE).fetchone()
        applied = source.execute("SELECT app, name FROM django_migrations").fetchall()
        columns = set(source.execute(_SQLITE_COLUMNS))
        keys = set(source.execute(_SQLITE_KEYS))
        unmatched = _unmatched(source)
    except sqlite3.Error as error:
        return f"is damaged: {error}"
    finally:
        source.close()
    if found != ("ok",):
        return f"is damaged: {found}"
    if more is not None:
        return f"has a {more[0]}, {more[1]!r}"
    if sorted(map(list, applied)) != listed:
        return "has other migrations than its manifest"
    # What the list of migrations says has not to be so, and nothing is looked at afterwards.
    if missing := sorted(_needed_columns() - columns):
        return f"lacks {'.'.join(missing[0])}"
    if missing_keys := sorted(_needed_keys() - keys):
        table, column, other, _ = missing_keys[0]
        return f"lacks the foreign key from {table}.{column} to {other}"
    return unmatched


def _unmatched(source: sqlite3.Connection) -> str:
    """The first row that names one which is not there, and how many more do; empty if none."""
    rows = source.execute("PRAGMA foreign_key_check")
    first = rows.fetchone()
    if first is None:
        return ""
    table, number, other, _ = first
    others = sum(1 for _ in rows)
    more = f", and {others:,} more such rows" if others else ""
    named = f"a row of {other!r:.80} that is not there"
    return f"has row {number} in {table!r:.80}, which names {named}{more}"


def _needed_columns() -> set[tuple[str, str]]:
    """All that this version reads, as (table, column)."""
    return {
        (model._meta.db_table, field.column)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
        if field.column
    }


def _needed_keys() -> set[tuple[str, str, str, str]]:
    """All foreign keys of this version, as (table, column, other table, its column)."""
    return {
        (model._meta.db_table, field.column, other.model._meta.db_table, f"{other.column}")
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.local_concrete_fields
        if isinstance(field, ForeignKey) and getattr(field, "db_constraint", True)
        for other in field.foreign_related_fields
    }
