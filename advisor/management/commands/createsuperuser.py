"""Django's `createsuperuser`, which starts in half of the time."""

from __future__ import annotations

from django.contrib.auth.management.commands import createsuperuser


class Command(createsuperuser.Command):
    # Not the addresses of all pages: to import what is behind them takes a second.
    requires_system_checks: list[str] = []
