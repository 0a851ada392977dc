"""The thread that counts the processes of the host while a run is measured."""

from __future__ import annotations

import threading
import time
from typing import Self

from benchmarks.telemetry.process_usage import ProcessCounter, ProcessUsage

# A count takes some 20 us per process. It is made this often, but never takes more than this
# share of one CPU's time.
_PERIOD_S = 5.0
_MAX_OF_A_CPU = 0.005


class ProcessWatcher:
    """Context manager: counts from `begin` on in a thread of its own until `end`."""

    def __init__(
        self, counter: ProcessCounter | None = None, *, period_s: float = _PERIOD_S
    ) -> None:
        self._counter = counter or ProcessCounter()
        self._period_s = period_s
        self._ended = threading.Event()
        self._begun = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="process_usage", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._begun.set()
        self._thread.join()

    def begin(self) -> None:
        """Make the first count, in the other thread."""
        self._begun.set()

    def end(self) -> None:
        """Make the last count, here and now."""
        self._ended.set()
        with self._lock:
            self._counter.count()

    def process_usage(self) -> ProcessUsage | None:
        """Return the findings so far; None before the first count."""
        return self._counter.process_usage()

    def _run(self) -> None:
        self._begun.wait()
        pause = 0.0
        while not self._ended.wait(pause):
            began = time.thread_time()
            with self._lock:
                if not self._ended.is_set():
                    self._counter.count()
            pause = max(self._period_s, (time.thread_time() - began) / _MAX_OF_A_CPU)
