"""Copies of a golden data directory, one for each run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.datasets.loading import never
from benchmarks.datasets.source import Dataset
from benchmarks.engines import innodb
from benchmarks.errors import NO_SPACE_ERRNOS, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import delete
from benchmarks.storage.copying import copy_tree, settle
from benchmarks.storage.human import human_bytes


def clone(
    dataset: Dataset,
    data_dir: Path,
    *,
    log_dir: Path | None = None,
    should_stop: Callable[[], bool] = never,
) -> None:
    """Copy the golden data directory to `data_dir`; the redo log goes to `log_dir` if given.

    Both are made if absent and must be empty. Nobody but us can read the clone; it is given to the
    server's user when its server is started. When this returns everything is on the disk and out
    of the page cache: no write-back of ours disturbs the run, and a server that reads through the
    page cache starts as cold as one that does not. Raises LoadFailed for a golden copy that is
    none, RunFailed: DISK_FULL, CANCELLED; on failure nothing is left.
    """
    directories = [data_dir] if log_dir is None else [data_dir, log_dir]
    for directory in directories:
        if directory.exists() and any(directory.iterdir()):
            raise FileExistsError(f"{directory} is not empty")

    def place(relative: Path) -> Path:
        is_redo = bool(relative.parts) and innodb.is_redo_log(relative.parts[0])
        return (log_dir if is_redo and log_dir is not None else data_dir) / relative

    try:
        if log_dir is not None:
            log_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_tree(dataset.data_dir, place, should_stop)
        for directory in directories:
            settle(directory, should_stop)
    except BaseException as error:
        for directory in directories:
            delete(directory)
        if isinstance(error, OSError) and error.errno in NO_SPACE_ERRNOS:
            places = {directory.parent for directory in directories}
            free = (f"{human_bytes(shutil.disk_usage(one).free)} free in {one}" for one in places)
            size = human_bytes(dataset.bytes)
            what = f"no room for a clone of the dataset, which takes {size}: {', '.join(free)}"
            raise RunFailed(Outcome.DISK_FULL, what) from error
        raise
