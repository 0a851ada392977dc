"""Tells a database that cannot work for the moment from a bug in what it was asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import OperationalError, close_old_connections

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


class Patience:
    """Outlasts a database that cannot work for the moment, and says so once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._waits = False

    @contextmanager
    def outlasts(self) -> Iterator[None]:
        """A block to be entered again and again; while the database is away it ends early."""
        try:
            yield
        except OperationalError as error:
            if not is_unavailable(error):
                raise
            close_old_connections()
            if not self._waits:
                said = " ".join(str(error).split())
                self._say(f"Waiting for the database, which says: {said}")
            self._waits = True
        else:
            if self._waits:
                self._say("The database works again.")
            self._waits = False
