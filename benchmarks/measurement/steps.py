"""The steps of a job on a device: each is reported and timed; its folders, its dataset."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.source import Dataset
from benchmarks.engines import innodb
from benchmarks.errors import DeviceUnusable
from benchmarks.measurement.plan import Plan
from benchmarks.ownership import held_folder, make_ours


@dataclass
class Steps:
    """Passes the current step to `report` and keeps the duration of each."""

    report: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)
    _current: str = ""
    _since: float = 0.0

    def enter(self, step: str) -> None:
        self.finish()
        self._current, self._since = step, time.monotonic()
        self.report(step)

    def finish(self) -> None:
        if self._current:
            spent = time.monotonic() - self._since
            self.seconds[self._current] = self.seconds.get(self._current, 0.0) + spent
        self._current = ""


@contextmanager
def run_folders(plan: Plan, steps: Steps) -> Iterator[tuple[Path, Path | None]]:
    """Make the plan's own directory, and one for its redo log if that is elsewhere.

    Both are held as long as this process lives and deleted at the end of the block. Raises
    DeviceUnusable when another advisor uses a directory of that name.
    """
    run_dir, log_dir = plan.layout.run_dir(plan.name), plan.log_dir
    with ExitStack() as stack:
        for folder in (run_dir, log_dir):
            if folder is not None:
                make_ours(folder.parent.parent)
                make_ours(folder.parent)
                try:
                    stack.enter_context(held_folder(folder))
                except BlockingIOError:
                    raise DeviceUnusable(
                        f"{folder} is in use: another advisor is measuring on this device"
                    ) from None
        try:
            yield run_dir, log_dir
        finally:
            steps.enter("discarding the clone")
            stack.close()
            steps.finish()


def find_dataset(plan: Plan, steps: Steps, should_stop: Callable[[], bool]) -> Dataset:
    """Return the golden copy that the plan's clones are made of, loaded if there is none."""
    steps.enter("looking for the dataset")
    return ensure_dataset(
        plan.source,
        plan.binary,
        device_dir=plan.layout.root,
        page_size=innodb.page_size_of(plan.options),
        should_stop=should_stop,
    )
