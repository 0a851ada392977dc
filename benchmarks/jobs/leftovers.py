"""Cleans up after a worker that was killed: servers, incomplete datasets and clones."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from benchmarks.datasets.golden import sweep_loads
from benchmarks.emulation.sweep import sweep_cgroups
from benchmarks.errors import DeviceUnusable
from benchmarks.jobs.claimant import is_dead
from benchmarks.models import CrashTest, Device, Run
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.ours import check_ours
from benchmarks.probe.workspace import sweep_probes
from benchmarks.servers.registry import reap
from benchmarks.servers.trial import sweep_trials
from benchmarks.storage.held import is_free
from benchmarks.storage.layout import DeviceLayout

logger = logging.getLogger(__name__)

RUN_PREFIX, CRASH_TEST_PREFIX = "run-", "crash-test-"
#: Prefix of the folders in which a load host's driver works, in the home.
LOAD_PREFIX = "load-"


def clear_leftovers(host_id: int) -> list[str]:
    """End orphaned servers; delete their cgroups, half-loaded datasets and folders of dead runs.

    Returns a line for each action. A run whose process is alive (of another worker that is about
    to end) is left alone.
    """
    done = reap(settings.INSTANCE_REGISTRY)
    done += sweep_cgroups()
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
            found = sweep_loads(layout.root)
            found += _clear_runs(layout, RUN_PREFIX, Run.objects.all())
            found += _clear_runs(layout, CRASH_TEST_PREFIX, CrashTest.objects.all())
            found += sweep_trials(layout.trials_dir)
            found += sweep_probes(layout.root)
        except (OSError, DeviceUnusable) as error:  # a missing device must not stop the worker
            logger.warning("%s could not be searched: %s", directory, error)
        else:
            done += [f"deleted {path}" for path in found]
    return done


def _clear_runs(layout: DeviceLayout, prefix: str, rows: QuerySet[Any]) -> list[Path]:
    """Delete the folders of dead jobs of this database; others may share the device.

    None that a living process holds, whatever the rows say: a job that was cut off from the
    database is lost there, and another container may count its jobs in a database of its own.
    """
    folder = layout.run_dir("")
    numbers = {path.name.removeprefix(prefix): path for path in folder.glob(f"{prefix}*")}
    there = {int(number): path for number, path in numbers.items() if number.isdecimal()}
    known = rows.filter(pk__in=there)
    alive = {row.pk for row in known.filter(state="running") if not is_dead(row.claimed_by)}
    known = known.exclude(pk__in=alive)
    dead = [path for pk in known.values_list("pk", flat=True) if is_free(path := there[pk])]
    for path in dead:
        delete(path)
    return [path for path in dead if not path.exists()]
