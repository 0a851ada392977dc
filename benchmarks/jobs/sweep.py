"""Finds jobs whose process died or went silent, results that were not stored, what was left."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from benchmarks.jobs.claims import is_dead, is_of_this_host, measuring_alone
from benchmarks.jobs.engine import settle, store
from benchmarks.jobs.heartbeat import WORKER_STOPPING
from benchmarks.jobs.kinds import JobKind
from benchmarks.jobs.leftovers import clear_leftovers
from benchmarks.jobs.spool import clear_drafts, is_spooled, notes
from benchmarks.models import JobRow

logger = logging.getLogger(__name__)

#: A living process of this host is silent when so many sweeps in a row found the same heartbeat.
#: A clock that was set, or a host or database that stood still, is no silence: the sweeps stood
#: still as well.
SILENT_SWEEPS = 10

#: So often what was left is looked for once nothing runs: a killed process may take its time.
CLEARINGS = 3

_Heard = tuple[str, int, object]


class Sweeper:
    """Looks after all kinds of jobs on one host, from one process, again and again."""

    def __init__(self, kinds: Sequence[JobKind[Any]]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._silent: dict[_Heard, int] = {}
        self._clearings = CLEARINGS

    def sweep(self, host_id: int) -> None:
        """Store what waits for it, give up what died, delete what it left. Safe to repeat.

        Raises django.db.Error when the database is away.
        """
        with measuring_alone(patience_s=0) as alone:
            stored = alone and self._store_noted()
            lost = self._lose_abandoned(host_id)
            busy = any(kind.running_on(host_id).exists() for kind in self._kinds.values())
            if stored or lost or busy:
                self._clearings = CLEARINGS
            if alone and not busy and self._clearings:
                for line in clear_leftovers(host_id):
                    logger.warning("left behind by a dead worker: %s", line)
                self._clearings -= 1

    def request_stop(self, host_id: int) -> None:
        """The worker is shutting down: ask what runs on this host to end within seconds."""
        for kind in self._kinds.values():
            kind.running_on(host_id).filter(stop_request="").update(stop_request=WORKER_STOPPING)

    def _store_noted(self) -> bool:
        """Store what waits for it, until the database is away; whether there was any."""
        clear_drafts()
        for note in (found := notes()):
            kind = self._kinds.get(note.kind)
            if kind is None:
                logger.error("%s is of a kind that is not known here", note.path)
                note.set_aside()
            elif not settle(kind, note):
                break
        return bool(found)

    def _lose_abandoned(self, host_id: int) -> bool:
        """Give up every job that nobody does any more; whether there were any."""
        silent: dict[_Heard, int] = {}
        lost = False
        limit = Now() - timedelta(seconds=settings.LOST_AFTER_SECONDS)
        quiet = Q(heartbeat_at=None) | Q(heartbeat_at__lt=limit)
        for kind in self._kinds.values():
            running = kind.running_on(host_id)
            unheard = set(running.filter(quiet).values_list("pk", flat=True))
            for row in running:
                heard = (kind.name, row.pk, row.heartbeat_at)
                if row.pk in unheard:
                    silent[heard] = self._silent.get(heard, 0) + 1
                if is_spooled(kind.name, row.pk):
                    continue
                if is_dead(row.claimed_by):
                    lost |= _lose(kind, row, "the worker died")
                elif silent.get(heard, 0) >= _bound(row.claimed_by):
                    lost |= _lose(kind, row, "the worker was not heard of any more")
        self._silent = silent
        return lost


def _bound(claim: str) -> int:
    """How many sweeps find it silent; of another host's process its heartbeat is all we know."""
    return SILENT_SWEEPS if is_of_this_host(claim) else 1


def _lose(kind: JobKind[Any], row: JobRow, reason: str) -> bool:
    """False when it was heard of after all."""
    step = getattr(row, "step", "")
    ending = kind.lost(row, f"{reason} while {step}" if step else reason)
    # Not "equal": SQLite compares text, and its own clock has milliseconds only.
    heard = row.heartbeat_at
    unheard = Q(heartbeat_at=None) if heard is None else Q(heartbeat_at__lte=heard)
    lost = store(kind, row.pk, row.claimed_by, ending, only=kind.running & unheard)
    if lost:
        logger.warning("%s %s is lost: %s", kind.name, row.pk, reason)
    return lost
