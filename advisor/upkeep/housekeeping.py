"""Delete old series, sessions, logs and datasets."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now

from benchmarks.models import ACTIVE_RUN_STATES, Host, Run, Sample
from tuning.errors import TuningError
from tuning.hosts.commands import ask_to_prune
from tuning.studies.datasets import prunable

logger = logging.getLogger(__name__)

#: A log of this size begins anew; so many old ones are kept.
MAX_LOG_BYTES: Final = 10 * 1024**2
KEPT_LOGS: Final = 3
#: How many runs lose their series at a time: others write to the same database.
_RUNS_AT_ONCE: Final = 20
#: It is due after a day; after a week it no longer waits until nothing is measured.
DUE_S: Final = 86_400.0
OVERDUE_S: Final = 7 * DUE_S


def keep_house(host: Host | None) -> Iterator[str]:
    """Do all of it; a line for each thing that was done. `host`: whose datasets lie here.

    Where the database lets a host change its own rows only (docs/how-to/connections.md), those.
    """
    for_all = _may_delete_sessions()
    if runs := prune_series(settings.SERIES_DAYS, None if for_all else host):
        yield f"runs that ended {settings.SERIES_DAYS} days ago and lost their series: {runs}"
    if for_all:
        call_command("clearsessions")
    for log in rotate_logs(settings.LOG_DIR):
        yield f"{log} begins anew"
    if host is not None and (found := prunable(host, settings.DATASET_DAYS)):
        with suppress(TuningError):  # the next time
            ask_to_prune(host)
            yield from (f"{one.dataset.path} is to be deleted: {why}" for one, why in found)
    _stamp().touch()


def is_due(*, idle: bool) -> bool:
    """Whether a worker should do it now; `idle`: nothing is being measured."""
    try:
        age = time.time() - _stamp().stat().st_mtime
    except FileNotFoundError:
        return idle
    return age >= (DUE_S if idle else OVERDUE_S)


def prune_series(days: int, host: Host | None = None) -> int:
    """Delete the seconds of runs that ended so long ago; how many runs had any. 0 days: none.

    Runs, their figures and verdicts stay. Of `host`, without one of all hosts.
    """
    if not days:
        return 0
    ended = Run.objects.exclude(state__in=ACTIVE_RUN_STATES)
    old = ended.filter(finished_at__lt=Now() - timedelta(days=days), samples__isnull=False)
    if host is not None:
        old = old.filter(host=host)
    pruned = 0
    while runs := list(old.values_list("pk", flat=True).distinct()[:_RUNS_AT_ONCE]):
        deleted, _ = Sample.objects.filter(run_id__in=runs).delete()
        if not deleted:  # not ours to delete: they would be found again for ever
            break
        pruned += len(runs)
    return pruned


def rotate_logs(folder: Path) -> list[Path]:
    """Begin logs anew that have become large; the old ones get numbers.

    What writes them has them open for appending and goes on: a log is copied and emptied. One
    that cannot be copied, such as for a full disk, stays as it is until the next time.
    """
    rotated = []
    for log in sorted(folder.glob("*.log")):
        if log.stat().st_size <= MAX_LOG_BYTES:
            continue
        draft = log.with_name(f".{log.name}.draft")
        try:
            shutil.copyfile(log, draft)
        except OSError as error:
            draft.unlink(missing_ok=True)
            logger.warning("%s does not begin anew: %s", log, error)
            continue
        for number in range(KEPT_LOGS, 1, -1):
            older = log.with_name(f"{log.name}.{number - 1}")
            if older.exists():
                older.rename(log.with_name(f"{log.name}.{number}"))
        draft.rename(log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)
        rotated.append(log)
    return rotated


def _may_delete_sessions() -> bool:
    """Whether this is the dashboard's own database login: a fleet host's has no such right."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        table = Session._meta.db_table
        cursor.execute("SELECT has_table_privilege(%s, 'DELETE')", [table])
        return bool(cursor.fetchone()[0])


def _stamp() -> Path:
    """Its time is that of the last housekeeping."""
    path: Path = settings.RUN_DIR / "housekeeping"
    return path
