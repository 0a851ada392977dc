"""Cleans up after a worker that was killed: servers, incomplete datasets and clones."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from django.conf import settings

from benchmarks.datasets.golden import sweep_loads
from benchmarks.emulation.sweep import sweep_cgroups
from benchmarks.jobs.claimant import is_dead
from benchmarks.models import Device, Run, RunState
from benchmarks.probe.workspace import sweep_probes
from benchmarks.servers.registry import reap
from benchmarks.servers.trial import sweep_trials
from benchmarks.storage.layout import DeviceLayout

logger = logging.getLogger(__name__)

RUN_PREFIX = "run-"


def clear_leftovers(host_id: int) -> list[str]:
    """End orphaned servers; delete their cgroups, half-loaded datasets and folders of dead runs.

    Returns a line for each action. A run whose process is alive (of another worker that is about
    to end) is left alone.
    """
    done = reap(settings.INSTANCE_REGISTRY)
    done += sweep_cgroups()
    running = Run.objects.filter(host_id=host_id, state=RunState.RUNNING)
    alive = {run.pk for run in running if not is_dead(run.claimed_by)}
    devices = Device.objects.filter(host_id=host_id)
    places = {place for pair in devices.values_list("data_dir", "log_dir") for place in pair}
    for place in sorted(places - {""}):
        layout = DeviceLayout(Path(place))
        try:
            found = sweep_loads(layout.root)
            found += _clear_runs(layout.run_dir(""), alive)
            found += sweep_trials(layout.trials_dir)
            found += sweep_probes(layout.root)
        except OSError as error:  # a missing device must not stop the worker
            logger.warning("%s could not be searched: %s", place, error)
        else:
            done += [f"deleted {path}" for path in found]
    return done


def _clear_runs(folder: Path, alive: set[int]) -> list[Path]:
    """Delete the folders of this database's runs; others may share the device."""
    numbers = {path.name.removeprefix(RUN_PREFIX): path for path in folder.glob(f"{RUN_PREFIX}*")}
    there = {int(number): path for number, path in numbers.items() if number.isdecimal()}
    known = Run.objects.filter(pk__in=there.keys() - alive)
    dead = [there[pk] for pk in known.values_list("pk", flat=True)]
    for path in dead:
        shutil.rmtree(path, ignore_errors=True)
    return [path for path in dead if not path.exists()]
