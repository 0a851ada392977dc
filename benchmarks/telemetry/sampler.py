"""The thread that takes a snapshot each second while a run lasts."""

from __future__ import annotations

import math
import os
import threading
import time
from typing import Protocol, Self

from benchmarks.storage.identity import DeviceIdentity
from benchmarks.telemetry.conditions import stalled_s
from benchmarks.telemetry.process_usage import ProcessCounter, ProcessUsage, ProcessWatcher
from benchmarks.telemetry.series import Second, build_series
from benchmarks.telemetry.snapshot import Snapshot, SnapshotReader

MEASURE_START = "measure_start"
MEASURE_END = "measure_end"


class Source(Protocol):
    """Where snapshots come from: a SnapshotReader."""

    def read(self, *, marked: bool = False) -> Snapshot: ...


class Sampler:
    """Context manager: samples from entry to exit.

    Ticks lie on a fixed grid of the monotonic clock, so lateness does not add up. Each mark starts
    the grid anew: the seconds after MEASURE_START are the driver's measured seconds. Ticks that
    were missed while the host stalled are not repeated; `series` shows them as a gap.
    """

    def __init__(
        self, source: Source, *, period_s: float = 1.0, watcher: ProcessWatcher | None = None
    ) -> None:
        self._source = source
        self._watcher = watcher
        self._period_s = period_s
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
        """For a running mysqld; `log` only where its logs have a directory elsewhere."""
        counter = ProcessCounter(roots=frozenset({os.getpid(), server_pid}))
        return cls(SnapshotReader(server_pid, data, log), watcher=ProcessWatcher(counter))

    def __enter__(self) -> Self:
        if self._watcher is not None:
            self._watcher.__enter__()
        with self._changed:
            self._start_grid(self._take())
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        if self._watcher is not None:
            self._watcher.__exit__(*exc)

    @property
    def period_s(self) -> float:
        """Seconds from one sample to the next when nothing holds the host up."""
        return self._period_s

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
        if self._watcher is not None and name == MEASURE_START:
            self._watcher.begin()
        if self._watcher is not None and name == MEASURE_END:
            self._watcher.end()
        return snapshot

    def series(self) -> list[Second]:
        """The seconds so far, up to MEASURE_END where that is marked.

        Where a mark fell between two ticks the second before it is shorter or longer, as its
        `elapsed_s` says. Without MEASURE_START all are warm-up and count up to the latest
        sample. RuntimeError when the thread failed, which is a bug.
        """
        with self._changed:
            if self._failure is not None:
                raise RuntimeError("sampling stopped") from self._failure
            snapshots = list(self._snapshots)
            marks = dict(self._marks)
        if not snapshots:
            return []
        origin = marks.get(MEASURE_START, snapshots[-1]).t
        if MEASURE_END in marks:
            snapshots = [s for s in snapshots if s.t <= marks[MEASURE_END].t]
        return build_series(snapshots, origin, period_s=self._period_s)

    def newest(self) -> Snapshot | None:
        """The latest snapshot; None before the first."""
        with self._changed:
            return self._snapshots[-1] if self._snapshots else None

    def process_usage(self) -> ProcessUsage | None:
        """Return the other programs' usage between the marks; None when nothing was counted."""
        return self._watcher.process_usage() if self._watcher is not None else None

    def times(self) -> list[float]:
        """`time.monotonic()` of each sample so far from MEASURE_START to MEASURE_END."""
        with self._changed:
            start, end = self._marks.get(MEASURE_START), self._marks.get(MEASURE_END)
            return [
                snapshot.t
                for snapshot in self._snapshots
                if start is not None
                and snapshot.t >= start.t
                and (end is None or snapshot.t <= end.t)
            ]

    def stalled_s(self) -> float:
        """Seconds so far in which the sampler was held up, in and beside the measured interval."""
        with self._changed:
            return stalled_s([snapshot.t for snapshot in self._snapshots], self._period_s)

    def _take(self, *, marked: bool = False) -> Snapshot:
        snapshot = self._source.read(marked=marked)
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
        except Exception as error:  # handed to the caller by series()
            self._failure = error

    def _wait_or_sample(self) -> None:
        late = time.monotonic() - self._next_tick
        if late < 0:
            self._changed.wait(-late)
            return  # to look again: a mark may have moved the grid meanwhile
        self._take()
        passed = math.floor((time.monotonic() - self._origin) / self._period_s)
        self._next_tick = self._origin + (passed + 1) * self._period_s
