"""The thread that takes a snapshot each second while a run lasts."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

from benchmarks.storage.identity import DeviceIdentity
from benchmarks.telemetry.process_usage import ProcessCounter, ProcessUsage
from benchmarks.telemetry.snapshot import Snapshot, SnapshotReader
from benchmarks.telemetry.usage import SampleRow, sample_rows

MEASURE_START = "measure_start"
MEASURE_END = "measure_end"
# A sample this much later than its time is a moment in which nothing ran. Less happens to a
# sleeping thread on a busy host.
_LATE_S = 0.5


class Sampler:
    """Context manager: samples from entry to exit.

    Ticks lie on a fixed grid of the monotonic clock, so lateness does not add up. Each mark starts
    the grid anew: the seconds after MEASURE_START are the driver's measured seconds. Ticks that
    were missed while the host stalled are not repeated; `rows` shows them as a gap.
    """

    def __init__(
        self,
        reader: SnapshotReader,
        *,
        period_s: float = 1.0,
        counter: ProcessCounter | None = None,
    ) -> None:
        self._period_s = period_s
        self._reader = reader
        self._counter = counter
        self._changed = threading.Condition()
        self._stopping = False
        self._snapshots: list[Snapshot] = []
        self._marks: dict[str, Snapshot] = {}
        self._origin = 0.0
        self._next_tick = 0.0
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    @classmethod
    def of(cls, server_pid: int, data: DeviceIdentity, log: DeviceIdentity | None = None) -> Self:
        """Make one for a running mysqld; `log` only if its logs have a directory elsewhere."""
        counter = ProcessCounter(os.getpid(), server_pid)
        return cls(SnapshotReader(server_pid, data, log), counter=counter)

    def __enter__(self) -> Self:
        with self._changed:
            self._start_grid(self._take())
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        if self._counter is not None:
            self._counter.close()

    def mark(self, name: str) -> Snapshot:
        """Take a snapshot now (with what is read at marks only), name it and start the seconds
        from it.

        MEASURE_START and MEASURE_END belong to the driver's change of phase, between them the
        processes of the host are counted; ValueError when a name comes twice.
        """
        with self._changed:
            if name in self._marks:
                raise ValueError(f"{name} has been marked already")
            snapshot = self._take(marked=True)
            self._marks[name] = snapshot
            self._start_grid(snapshot)  # later than what the thread waits for: no need to wake it
        if self._counter is not None and name == MEASURE_START:
            self._counter.begin()
        if self._counter is not None and name == MEASURE_END:
            self._counter.end()
        return snapshot

    def rows(self, **per_second: Sequence[Any]) -> list[SampleRow]:
        """Return the seconds so far, up to MEASURE_END where that is marked; see `sample_rows`.

        Where a mark fell between two ticks the second before it is shorter or longer, as its
        `elapsed_s` says. Without MEASURE_START all are warm-up and count up to the latest
        sample. RuntimeError when the thread failed, which is a bug.
        """
        with self._changed:
            if self._failure is not None:
                raise RuntimeError("sampling stopped") from self._failure
            start, snapshots = self._marks.get(MEASURE_START), self._until_end()
        origin = (start or snapshots[-1]).t if snapshots else 0.0
        return sample_rows(snapshots, origin, per_second, period_s=self._period_s)

    def newest(self) -> Snapshot | None:
        """Return the latest snapshot; None before the first."""
        with self._changed:
            return self._snapshots[-1] if self._snapshots else None

    def process_usage(self) -> ProcessUsage | None:
        """Return the other programs' usage between the marks; None when nothing was counted."""
        return self._counter.process_usage() if self._counter is not None else None

    def stalled_s(self, *, measured: bool = False) -> float:
        """Return the seconds by which samples came too late so far, all or the measured ones.

        Lateness of scheduling is no stall.
        """
        with self._changed:
            start = self._marks.get(MEASURE_START) if measured else None
            taken = self._until_end() if measured else self._snapshots
            times = [s.t for s in taken if start is None or s.t >= start.t]
        late = (after - before - self._period_s for before, after in pairwise(times))
        return sum(seconds for seconds in late if seconds > _LATE_S)

    def _until_end(self) -> list[Snapshot]:
        end = self._marks.get(MEASURE_END)
        return [s for s in self._snapshots if end is None or s.t <= end.t]

    def _take(self, *, marked: bool = False) -> Snapshot:
        snapshot = self._reader.read(marked=marked)
        self._snapshots.append(snapshot)
        return snapshot

    def _start_grid(self, at: Snapshot) -> None:
        self._origin = at.t
        self._next_tick = at.t + self._period_s

    def _run(self) -> None:
        try:
            with self._changed:
                while not self._stopping:
                    self._wait_or_sample()
        except Exception as error:  # handed to the caller by rows()
            self._failure = error

    def _wait_or_sample(self) -> None:
        late = time.monotonic() - self._next_tick
        if late < 0:
            self._changed.wait(-late)
            return  # to look again: a mark may have moved the grid meanwhile
        self._take()
        passed = math.floor((time.monotonic() - self._origin) / self._period_s)
        self._next_tick = self._origin + (passed + 1) * self._period_s
