"""Waits for SQLite's write lock without holding up the other greenlets of the web server.

SQLite itself waits in C, where no greenlet can be changed: also the one that holds the lock.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

WAIT_SECONDS = 30.0
STEP_SECONDS = 0.02


def wait_patiently() -> None:
    """From now on, in this process, for every connection to SQLite."""
    connection_created.connect(_make_patient, dispatch_uid="advisor.processes.patience")


def _make_patient(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
    if ask_again_while_busy not in connection.execute_wrappers:
        connection.execute_wrappers.append(ask_again_while_busy)


def ask_again_while_busy(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
) -> Any:
    """Django's wrapper of a statement. One that SQLite was too busy for has done nothing."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return execute(sql, params, many, context)
        except OperationalError as error:
            if not _was_busy(error) or time.monotonic() > until:
                raise
        time.sleep(STEP_SECONDS)  # gevent's own, in its worker


def _was_busy(error: OperationalError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", 0)
    return bool(code & 0xFF == sqlite3.SQLITE_BUSY)
