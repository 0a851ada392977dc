"""`manage.py housekeeping`: what nobody needs any more goes. Workers do it once a day."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from advisor.management.refusals import ends_when_refused
from advisor.processes.database import prepare_database
from advisor.upkeep.housekeeping import keep_house
from benchmarks.models import Host


class Command(BaseCommand):
    help = "Delete old series, ended sessions, expired tokens and unused datasets; rotate logs."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        with ends_when_refused(self):
            prepare_database()
        done = list(keep_house(Host.objects.filter(name=settings.HOST_NAME).first()))
        for line in done or ["There was nothing to do."]:
            self.stdout.write(line)
