"""Folders of one job on a device: its golden dataset, and directories that go at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.source import Dataset
from benchmarks.engines import innodb
from benchmarks.errors import DeviceUnusable
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.steps import Steps
from benchmarks.ownership import held_folder, make_ours


def find_dataset(plan: Plan, steps: Steps, should_stop: Callable[[], bool]) -> Dataset:
    """The golden copy that the plan's clones are made of, loaded if there is none."""
    steps.enter("looking for the dataset")
    return ensure_dataset(
        plan.source,
        plan.binary,
        device_dir=plan.layout.root,
        page_size=innodb.page_size_of(plan.options),
        should_stop=should_stop,
    )


@contextmanager
def run_folders(plan: Plan, steps: Steps) -> Iterator[tuple[Path, Path | None]]:
    """The plan's own directory and the one for its redo log, if it has one.

    Both are held as long as this process lives (`held_folder`). Raises DeviceUnusable
    when another advisor uses a directory of that name.
    """
    run_dir = plan.layout.run_dir(plan.name)
    log_dir = plan.log_dir
    folders = [run_dir] if log_dir is None else [run_dir, log_dir]
    with ExitStack() as stack:
        for folder in folders:
            _make(folder, stack)
        try:
            yield run_dir, log_dir
        finally:
            steps.enter("discarding the clone")
            stack.close()
            steps.finish()


def _make(folder: Path, stack: ExitStack) -> None:
    try:
        make_ours(folder.parent.parent)
        make_ours(folder.parent)
        stack.enter_context(held_folder(folder))
    except BlockingIOError:
        raise DeviceUnusable(
            f"{folder} is in use: another advisor is measuring on this device"
        ) from None
