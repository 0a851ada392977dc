"""Queues again what ended because of the worker and not because of the config."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from benchmarks.models import Run, RunState
from tuning.models import Slot, Study


def retry_interrupted(study: Study) -> None:
    """Queue every lost or stopped run of a study that nobody cancelled. Safe to repeat."""
    interrupted = study.slots.filter(
        study__stop_request="", run__state__in=[RunState.LOST, RunState.CANCELLED]
    )
    for slot in interrupted.select_related("run", "run__retry_of"):
        _retry(slot)


def _retry(slot: Slot) -> None:
    """A retry is a new run that points to the old one; a lost run is retried a bounded time."""
    old = slot.run
    if old.state == RunState.LOST and _times_lost(old) > settings.LOST_RUN_RETRIES:
        return
    with transaction.atomic():
        new = Run.objects.create(
            host=old.host,
            device=old.device,
            server=old.server,
            workload=old.workload,
            config=old.config,
            seed=old.seed,
            retry_of=old,
        )
        # Only one of two that do this at once wins, and none after the study was cancelled.
        if not Slot.objects.filter(pk=slot.pk, run=old, study__stop_request="").update(run=new):
            transaction.set_rollback(True)


def _times_lost(run: Run | None) -> int:
    count = 0
    while run is not None:
        count += run.state == RunState.LOST
        run = run.retry_of
    return count
