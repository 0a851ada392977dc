"""`manage.py housekeeping`: what nobody needs any more goes. Workers do it once a day."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from advisor.management.command import AdvisorCommand
from advisor.upkeep.housekeeping import keep_house
from benchmarks.models import Host


class Command(AdvisorCommand):
    help = "Delete old series, ended sessions, expired tokens and unused datasets; rotate logs."

    def run(self, options: dict[str, Any]) -> None:
        done = list(keep_house(Host.objects.filter(name=settings.HOST_NAME).first()))
        for line in done or ["There was nothing to do."]:
            self.stdout.write(line)
