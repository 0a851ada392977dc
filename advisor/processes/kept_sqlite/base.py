"""Django's SQLite, with connections that are kept for the next request of the web server.

Each request has a greenlet of its own and so, for Django, a thread's own connection. To open one
costs several milliseconds: the file's schema is read, and some forty functions are registered.

They read the file where the kernel has it. What a page needs of a run lies behind 26 KB that it
does not need: read page by page, several hundred runs are some thousand calls for each query.

That their times are in UTC they know, where Django asks its settings for each of a thousand.
"""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from typing import Any

from django.db.backends.sqlite3 import base, operations

#: Beyond these, connections are closed.
MAX_KEPT = 8
#: So much of the file is read in place, in bytes.
MAPPED = 1 << 30

_File = tuple[int, int]
_KEPT: list[tuple[_File, sqlite3.Connection]] = []


class DatabaseOperations(operations.DatabaseOperations):
    """Times are stored in UTC; of an expression, other than of a column, they come as text."""

    def convert_datetimefield_value(
        self, value: str | datetime | None, expression: object, connection: object
    ) -> datetime | None:
        if value is None:
            return None
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        return found.replace(tzinfo=UTC)


class DatabaseWrapper(base.DatabaseWrapper):
    """Takes a connection that another request has left, if there is one to the same file."""

    ops_class = DatabaseOperations
    _opened: _File | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        path = conn_params["database"]
        # Looked at before it is opened: one replaced meanwhile is not taken for the new one.
        self._opened = _file(path)
        while _KEPT:
            kept, connection = _KEPT.pop()
            if kept == self._opened:
                return connection
            connection.close()  # the file was replaced
        connection = super().get_new_connection(conn_params)
        connection.execute(f"PRAGMA mmap_size = {MAPPED}")
        self._opened = self._opened or _file(path)  # it is new
        return connection

    def _close(self) -> None:
        connection: Any = self.connection
        if connection is None:
            return
        # One that failed, or is in the middle of something, is not for others.
        is_fit = not (self.errors_occurred or self.in_atomic_block or connection.in_transaction)
        if is_fit and self._opened is not None and len(_KEPT) < MAX_KEPT:
            _KEPT.append((self._opened, connection))
        else:
            with self.wrap_database_errors:
                connection.close()


def _file(path: os.PathLike[str] | str) -> _File | None:
    """What tells a file from another one that takes its place."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
