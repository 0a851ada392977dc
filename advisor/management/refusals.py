"""How a command ends that is refused, with the reason on stderr; who uses a command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from django.core.management.base import BaseCommand
from django.db import DatabaseError, transaction
from django.db.models import Model

from advisor.processes.unavailable import is_unavailable
from benchmarks.errors import ExpectedError
from tuning.errors import BadRequest, TuningError

#: PostgreSQL's insufficient_privilege, also of what its row-level security refuses.
_NOT_PERMITTED = "42501"


def check_may_change(row: Model) -> None:
    """Raises TuningError, not_permitted, for a row that is not this host's login's to change.

    PostgreSQL does not say so: it changes no row, as if that were not in the state to be changed.
    """
    with transaction.atomic():
        rows = type(row)._default_manager.select_for_update().filter(pk=row.pk)
        if rows.values_list("pk").first() is None:
            what = f"{row._meta.verbose_name} {row}"
            raise TuningError(
                "not_permitted", f"run this where the dashboard runs: {what} is not of this host"
            )


def caller() -> str:
    """Who uses a command."""
    return f"{psutil.Process().username()} on the command line"


@contextmanager
def ends_without_database(command: BaseCommand, *, status: int = 1) -> Iterator[None]:
    """A database that cannot be used for the moment, or not with the rights of a host's login
    (docs/reference/host-role.sql), ends the command with a line that says so.
    """
    try:
        yield
    except DatabaseError as error:
        said = " ".join(str(error).split())
        if is_unavailable(error):
            command.stderr.write(f"database_unavailable: {said}")
        elif getattr(error.__cause__, "sqlstate", "") == _NOT_PERMITTED:
            command.stderr.write(f"not_permitted: run this where the dashboard runs: {said}")
        else:
            raise
        sys.exit(status)


@contextmanager
def ends_when_refused(command: BaseCommand, *, bad_request: int = 1) -> Iterator[None]:
    """An expected failure inside becomes the line `code: reason` and the status 1.

    `bad_request` is the status where what was asked for makes no sense.
    """
    try:
        with ends_without_database(command):
            yield
    except ExpectedError as error:
        command.stderr.write(f"{error.code}: {error}")
        sys.exit(bad_request if isinstance(error, BadRequest) else 1)
