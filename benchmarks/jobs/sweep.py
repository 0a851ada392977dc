"""Finds jobs whose process died, unstored results and leftovers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from benchmarks.datasets.shared_folders import sweep_loads
from benchmarks.emulation.groups import sweep_cgroups
from benchmarks.errors import DeviceUnusable
from benchmarks.jobs.engine import settle, store
from benchmarks.jobs.heartbeat import CANCELLED, WORKER_STOPPING, quiet
from benchmarks.jobs.kinds import JobKind
from benchmarks.jobs.loads import LOAD_PREFIX
from benchmarks.jobs.locks import home_lock, is_of_this_home, measuring_alone
from benchmarks.jobs.unstored import is_unstored, unstored_endings
from benchmarks.models import Device, Host, JobRow
from benchmarks.ownership import check_ours, delete
from benchmarks.probe.run import PROBES
from benchmarks.servers.running import sweep_folders
from benchmarks.storage.layout import DeviceLayout

logger = logging.getLogger(__name__)

#: Number of searches for leftovers when nothing runs; a killed process may need some time to end.
CLEARINGS = 3


class Sweeper:
    """Looks after all kinds of jobs on one host, called repeatedly by one process."""

    def __init__(self, kinds: Sequence[JobKind[Any]]) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._clearings = CLEARINGS

    def sweep(self, host_id: int) -> bool:
        """Store pending results, mark dead jobs as lost, delete leftovers. Safe to repeat.

        Returns whether no job is running any more; else there is more to do later. Raises
        django.db.Error if the database is unavailable.
        """
        with home_lock(patience_s=0) as alone:
            stored = alone and self._store_results()
            lost, busy = self._lose_abandoned(host_id, alone=alone)
        if stored or lost or busy:
            self._clearings = CLEARINGS
        if not busy and self._clearings:
            # Not while another container of this machine measures: deleting takes I/O.
            with measuring_alone(patience_s=0) as held:
                if held:
                    for line in clear_leftovers(host_id):
                        logger.warning("left behind by a dead worker: %s", line)
                    self._clearings -= 1
        return not busy

    def request_stop(self, host_id: int) -> None:
        """The worker is shutting down: ask the current job of this host to end within seconds."""
        for kind in self._kinds.values():
            kind.running_on(host_id).filter(stop_request="").update(stop_request=WORKER_STOPPING)

    def _store_results(self) -> bool:
        """Store pending results until the database is unavailable; whether there were any."""
        results = unstored_endings()
        for result in results:
            kind = self._kinds.get(result.kind)
            if kind is None:
                logger.error("%s is of an unknown kind", result.path)
                result.set_aside()
            elif not settle(kind, result):
                break
        return bool(results)

    def _lose_abandoned(self, host_id: int, *, alone: bool) -> tuple[bool, bool]:
        """Mark every abandoned job as lost; whether there were any, and whether others run.

        `alone`: no process of this home does a job, since we hold its lock.
        """
        is_silent = ExpressionWrapper(quiet(), output_field=BooleanField())
        lost = busy = False
        for kind in self._kinds.values():
            running = kind.running_on(host_id).select_related(None)
            # The rows are wide; of one that is lost the rest is read when it is asked for.
            running = running.only("claimed_by", "heartbeat_at")
            for row in running.annotate(is_silent=is_silent):
                reason = "" if is_unstored(kind.name, row.pk) else _why_lost(row, alone=alone)
                is_lost = bool(reason) and _lose(kind, row, reason)
                lost |= is_lost
                busy |= not is_lost
        return lost, busy


def close_cancelled(kinds: Sequence[JobKind[Any]], hosts: QuerySet[Host]) -> None:
    """Close jobs on these hosts that a user cancelled and whose process is not heard any more.

    `hosts` have no worker, which would close them itself. A result that comes late is not stored.
    """
    for kind in kinds:
        silent = kind.rows.filter(kind.running, quiet(), **{f"{kind.host}__in": hosts})
        for row in silent.filter(stop_request=CANCELLED):
            _lose(kind, row, "the worker is gone")


def _why_lost(row: Any, *, alone: bool) -> str:
    """Return why a running job is lost; "" if it is not.

    A process of another home, whose host this is now, is only known by its heartbeats.
    """
    if is_of_this_home(row.claimed_by):
        return "the worker died" if alone else ""
    return "the worker stopped sending heartbeats" if row.is_silent else ""


def _lose(kind: JobKind[Any], row: JobRow, reason: str) -> bool:
    """Mark a job as lost; False if its heartbeat has arrived after all."""
    step = getattr(row, "step", "")
    ending = kind.lost(row, f"{reason} while {step}" if step else reason)
    # Not "equal": SQLite compares text, and its own clock has only milliseconds.
    heard = row.heartbeat_at
    unheard = Q(heartbeat_at=None) if heard is None else Q(heartbeat_at__lte=heard)
    lost = store(kind, row.pk, row.claimed_by, ending, only=kind.running & unheard)
    if lost:
        logger.warning("%s %s is lost: %s", kind.name, row.pk, reason)
    return lost


def clear_leftovers(host_id: int) -> list[str]:
    """End orphaned servers; delete their cgroups, half-loaded datasets and folders of dead jobs.

    Returns a line for each action. A folder that a living process holds is left alone, whatever
    the rows say: a job that was cut off from the database is lost there, and another container may
    count its jobs in a database of its own.
    """
    done = [f"removed the cgroup {path}" for path in sweep_cgroups()]
    for folder in settings.RUN_DIR.glob(f"{LOAD_PREFIX}*"):  # no job of this home is running
        delete(folder)
        done.append(f"deleted {folder}")
    devices = Device.objects.filter(host_id=host_id)
    directories = {
        directory for pair in devices.values_list("data_dir", "log_dir") for directory in pair
    }
    for directory in sorted(directories - {""}):
        layout = DeviceLayout(Path(directory))
        try:
            if layout.root.exists():  # what is deleted must be what stands there under its name
                check_ours(layout.root)
            found = sweep_loads(layout.datasets_dir)
            found += sweep_folders(layout.runs_dir)
            found += sweep_folders(layout.trials_dir)
            found += sweep_folders(layout.root, PROBES)
        except (OSError, DeviceUnusable) as error:  # a missing device must not stop the worker
            logger.warning("%s could not be searched: %s", directory, error)
        else:
            done += [f"deleted {path}" for path in found]
    return done
