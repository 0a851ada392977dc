"""`manage.py worker`: this host's measuring worker, in the foreground."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from celery.worker import state
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from advisor.celery import app
from advisor.processes.scratch import share_in
from advisor.processes.supervisor import worker_name
from advisor.worker import join, leave
from benchmarks.jobs.presence import NameTaken
from benchmarks.models import Host


class Command(BaseCommand):
    help = (
        "Run this host's worker: one benchmark at a time, from the host's own queue. It joins "
        "under ADVISOR_HOST_NAME; exits with 69 if another live worker has that name."
    )
    # Neither Django nor Celery checks the addresses of all pages: to import what is behind them
    # takes time and memory, and a worker has no use for it.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        # The server's unprivileged user must be able to traverse the directories that we create on
        # a device; private ones are protected by their own mode.
        os.umask(0o022)
        os.environ.setdefault("CELERY_SKIP_CHECKS", "yes")
        try:
            join()
        except NameTaken as error:
            raise CommandError(f"{error.code}: {error}", returncode=os.EX_UNAVAILABLE) from error
        try:
            share_in(settings.RUN_DIR / "shared")
            import_module("scipy.special")  # later it would be beside what is measured
            # Not `app.worker_main`: to import Celery's command line takes 0.2 s of the CPU.
            app.Worker(
                queues=Host(name=settings.HOST_NAME).queue,
                hostname=worker_name(),
                pool_cls="prefork",
                concurrency=1,
                loglevel="INFO",
                without_gossip=True,
                # Nobody listens to what it would say every two seconds.
                without_heartbeat=True,
                without_mingle=True,
            ).start()
        finally:
            leave()
        if state.should_stop == os.EX_UNAVAILABLE:  # which `start` does not return
            sys.exit(os.EX_UNAVAILABLE)
