"""Records of recorder.lua, one per transaction, counted while the workload runs.

Each thread fills one file after another, each of which is complete when it has its name. They are
counted and deleted about once a second: neither memory nor disk holds more than the last seconds,
however long the run is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.drivers.protocol import TransactionCounts, Workload
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.workplace import open_result

#: How the names of the files begin: `records.THREAD.NUMBER`.
PREFIX: Final = "records"
#: One transaction as recorder.lua writes it, in its `recorder_record`.
RECORD: Final = np.dtype(
    [("ended", "<f8"), ("ms", "<f4"), ("retries", "<u2"), ("kind", "u1"), ("failed", "u1")]
)
#: recorder.lua begins a new file after 64 KB.
_MAX_BYTES: Final = 1 << 20

Records = npt.NDArray[np.void]


class RecordCounter:
    """Counts the transactions that ended in the measured interval, of the files in `directory`.

    `take` may be called at any time between the events; what was written before `begin` ended
    before it too.
    """

    def __init__(self, directory: Path, workload: Workload, *, measure_s: int) -> None:
        self._directory = directory
        self._names = workload.transactions
        self._measure_s = measure_s
        self._begin: float | None = None
        self._end = float("inf")
        self._taken: dict[int, int] = {}
        self._completed = np.zeros(len(self._names), dtype=np.int64)
        self._retried = np.zeros(len(self._names), dtype=np.int64)
        self._failed = np.zeros(len(self._names), dtype=np.int64)
        self.times = ResponseTimes(measure_s)

    def begin(self, at: float) -> None:
        """Measuring began at this instant of the monotonic clock."""
        self._begin = at

    def end(self, at: float) -> None:
        """Measuring ended at this instant."""
        self._end = at

    def take(self) -> None:
        """Count and delete what has been written since.

        Raises OSError or ValueError when a file cannot be read, is cut off or is missing.
        """
        found = []
        for name in os.listdir(self._directory):
            prefix, _, rest = name.partition(".")
            of_thread, _, text = rest.partition(".")
            if prefix == PREFIX and of_thread.isdecimal() and text.isdecimal():
                found.append((int(of_thread), int(text), name))
        for thread, number, name in sorted(found):
            if number != self._taken.get(thread, 0):
                raise ValueError(f"{name} came before {PREFIX}.{thread}.{number - 1}")
            self._taken[thread] = number + 1
            path = self._directory / name
            with open_result(path) as file:
                read = file.read(_MAX_BYTES + 1)
            if len(read) > _MAX_BYTES:
                raise ValueError(f"{name} is larger than recorder.lua makes it")
            records = np.frombuffer(read, dtype=RECORD)
            path.unlink()
            if self._begin is not None:
                self._count(records, self._begin)

    def counts(self) -> dict[str, TransactionCounts]:
        """Completed, retried and failed transactions of each type so far."""
        return {
            name: TransactionCounts(
                int(self._completed[kind]), int(self._retried[kind]), int(self._failed[kind])
            )
            for kind, name in enumerate(self._names)
        }

    def _count(self, records: Records, begin: float) -> None:
        records = records[(records["ended"] >= begin) & (records["ended"] < self._end)]
        kind = records["kind"].astype(np.int64)
        if kind.size and kind.max() >= len(self._names):
            raise ValueError(f"there is no transaction of kind {kind.max()}")
        failed = records["failed"] != 0
        np.add.at(self._completed, kind[~failed], 1)
        np.add.at(self._failed, kind[failed], 1)
        np.add.at(self._retried, kind, records["retries"])
        counted = records[(kind == 0) & ~failed]
        second = np.minimum((counted["ended"] - begin).astype(int), self._measure_s - 1)
        self.times.add(counted["ms"], second)
