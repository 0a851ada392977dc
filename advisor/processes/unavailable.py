"""Tells a database that cannot work for the moment from a bug in what it was asked."""

from __future__ import annotations

import sqlite3

from django.db import OperationalError

#: Seconds after which it is worth while to ask again.
ASK_AGAIN_S = 10


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database is away, restarting, busy or full: the same request may work later.

    PostgreSQL has OperationalError for nothing else; SQLite also for statements that are wrong.
    """
    if not isinstance(error, OperationalError):
        return False
    code: int | None = getattr(error.__cause__, "sqlite_errorcode", None)
    return code is None or code & 0xFF != sqlite3.SQLITE_ERROR
