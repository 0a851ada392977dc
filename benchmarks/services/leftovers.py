"""What a worker that died at once leaves behind: servers, run folders, half a clone."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings

from benchmarks.layout import DeviceLayout
from benchmarks.models import Device, Run, RunState
from benchmarks.servers.registry import reap
from benchmarks.services.claims import is_dead

RUN_PREFIX = "run-"


def clear_leftovers(host_id: int) -> list[str]:
    """End orphaned servers and delete the folders of runs that nobody measures any more.

    Returns a line for each thing done. A run whose process lives (of another worker that ends
    just now) is left alone.
    """
    done = reap(settings.INSTANCE_REGISTRY)
    running = Run.objects.filter(host_id=host_id, state=RunState.RUNNING)
    alive = {f"{RUN_PREFIX}{run.pk}" for run in running if not is_dead(run.claimed_by)}
    for device in Device.objects.filter(host_id=host_id):
        for place in (device.data_dir, device.log_dir):
            if place:
                done += _clear_runs(DeviceLayout(Path(place)).run_dir(""), alive)
    return done


def _clear_runs(folder: Path, alive: set[str]) -> list[str]:
    if not folder.is_dir():
        return []
    ours = {f"{RUN_PREFIX}{pk}" for pk in Run.objects.values_list("pk", flat=True)}
    dead = [path for path in folder.iterdir() if path.name in ours - alive]
    for path in dead:
        shutil.rmtree(path, ignore_errors=True)
    return [f"deleted {path}" for path in dead]
