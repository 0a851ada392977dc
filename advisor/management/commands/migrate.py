"""Django's `migrate`, by one process at a time; the database learns which version did it."""

from __future__ import annotations

from typing import Any

from django.core.checks import Tags
from django.core.management.base import CommandError
from django.core.management.commands import migrate

from advisor.errors import DatabaseUnreachable
from advisor.processes.database import check_reachable, migrating_alone
from benchmarks.jobs.versions import tables_differ, write_release


class Command(migrate.Command):
    # Not the addresses of all pages: to import what is behind them takes a second.
    requires_system_checks: list[str] = [Tags.database, Tags.models]

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check_reachable()
        except DatabaseUnreachable as error:
            raise CommandError(f"{error.code}: {error}") from error
        with migrating_alone():
            super().handle(*args, **options)
            if not tables_differ():
                write_release()
