"""Cleans up after a worker that was killed: servers, incomplete datasets and clones."""

from __future__ import annotations

import logging
from pathlib import Path

from django.conf import settings

from benchmarks.datasets.shared_folders import sweep_loads
from benchmarks.emulation.groups import sweep_cgroups
from benchmarks.errors import DeviceUnusable
from benchmarks.models import Device
from benchmarks.ownership import check_ours, delete
from benchmarks.probe.run import PROBES
from benchmarks.servers.running import sweep_folders
from benchmarks.storage.layout import DeviceLayout

logger = logging.getLogger(__name__)

#: Prefix of the folders in which a load host's driver works, in the home.
LOAD_PREFIX = "load-"


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
