"""The directories of one job on a device, made at its beginning and deleted at its end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measurement.plan import Plan
from benchmarks.measurement.steps import Steps


@contextmanager
def run_folders(plan: Plan, steps: Steps) -> Iterator[tuple[Path, Path | None]]:
    """The plan's own directory and the one for its redo log, if it has one."""
    run_dir = plan.layout.run_dir(plan.name)
    log_dir = plan.log_dir
    folders = [run_dir] if log_dir is None else [run_dir, log_dir]
    try:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        yield run_dir, log_dir
    finally:
        steps.enter("discarding the clone")
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        steps.finish()
