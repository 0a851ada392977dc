"""Records of recorder.lua, one per transaction, counted while the workload runs.

Each thread fills one file after another, each of which is complete when it has its name. They are
counted and deleted about once a second: neither memory nor disk holds more than the last seconds,
however long the run is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.drivers.program import open_result
from benchmarks.drivers.protocol import TransactionCounts, Workload
from benchmarks.drivers.response_times import ResponseTimes

#: How the names of the files begin: `records.THREAD.NUMBER`.
PREFIX: Final = "records"
#: One transaction as recorder.lua writes it, in its `recorder_record`.
RECORD: Final = np.dtype(
    [("ended", "<f8"), ("ms", "<f4"), ("retries", "<u2"), ("kind", "u1"), ("failed", "u1")]
)
#: recorder.lua begins a new file after 64 KB.
_MAX_BYTES: Final = 1 << 20


class RecordCounter:
    """Counts the transactions in the files of `directory` that ended from `begin` to `end`.

    `begin` and `end` are instants of the monotonic clock, set when they are reached. `times` are
    the response times of the transaction that counts.
    """

    def __init__(self, directory: Path, workload: Workload, *, measure_s: int) -> None:
        self._directory = directory
        self._names = workload.transactions
        self._measure_s = measure_s
        self._counts = np.zeros((3, len(self._names)), dtype=np.int64)
        self.begin = self.end = float("inf")
        self.times = ResponseTimes(measure_s)

    def take(self) -> None:
        """Count and delete what has been written since.

        Raises OSError or ValueError when a file cannot be read or is cut off.
        """
        for path in self._directory.glob(f"{PREFIX}.*.*"):
            with open_result(path) as file:
                records = np.frombuffer(file.read(_MAX_BYTES), dtype=RECORD)
            path.unlink()
            ended = records["ended"]
            records = records[(ended >= self.begin) & (ended < self.end)]
            kind, failed = records["kind"], records["failed"] != 0
            if kind.size and kind.max() >= len(self._names):
                raise ValueError(f"transaction {kind.max()} is unknown")
            self._counts += [
                np.bincount(kind[~failed], minlength=len(self._names)),
                np.bincount(kind, records["retries"], len(self._names)).astype(np.int64),
                np.bincount(kind[failed], minlength=len(self._names)),
            ]
            counted = records[(kind == 0) & ~failed]
            # A transaction that ended a little after the last planned second belongs to it.
            second = (counted["ended"] - self.begin).astype(int).clip(max=self._measure_s - 1)
            self.times.add(counted["ms"], second)

    def counts(self) -> dict[str, TransactionCounts]:
        """Return completed, retried and failed transactions of each type so far."""
        columns = self._counts.T.tolist()
        return {
            name: TransactionCounts(*column)
            for name, column in zip(self._names, columns, strict=True)
        }
