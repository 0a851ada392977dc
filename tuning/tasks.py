"""The Celery tasks, one for each kind of job: a message only says "wake up"."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.db import close_old_connections

from benchmarks.jobs.engine import execute
from benchmarks.jobs.kinds import JobKind
from tuning.studies.jobs import KINDS
from tuning.studies.scheduler import advance_host


def _register(kind: JobKind[Any]) -> None:
    @shared_task(name=kind.task)
    def do(row_id: int) -> None:
        close_old_connections()
        if execute(kind, row_id):
            advance_host(kind.host_of(row_id))


for _kind in KINDS:
    _register(_kind)
