"""Django's `migrate`, by one process at a time; the database learns which version did it."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from advisor.processes.database import migrating_alone
from benchmarks.jobs.versions import tables_differ, write_release


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with migrating_alone():
            super().handle(*args, **options)
            if not tables_differ():
                write_release()
