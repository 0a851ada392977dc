"""Rows that several tests begin with: what takes dozens of runs to come about is made once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from django.db import connection

from tuning.models import Study

_KEPT: dict[str, tuple[sqlite3.Connection, int]] = {}


def kept(name: str, make: Callable[[], Study]) -> Study:
    """The study that `make` makes, with all rows as they were then; made by who asks first.

    All other rows are gone: what else a test needs, such as users, is made afterwards. On another
    database than SQLite each test makes its own. Raises RuntimeError in a transaction, which would
    wait for itself.
    """
    if connection.vendor != "sqlite":
        return make()
    if connection.in_atomic_block:
        raise RuntimeError("copied rows cannot replace those of a transaction: transaction=True")
    if name not in _KEPT:
        study = make()
        _KEPT[name] = sqlite3.connect(":memory:", check_same_thread=False), study.pk
        connection.connection.backup(_KEPT[name][0])
    rows, key = _KEPT[name]
    rows.backup(connection.connection)
    return Study.objects.get(pk=key)
