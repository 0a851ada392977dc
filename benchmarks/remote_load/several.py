"""Several processes of one driver as one: where a single one cannot keep the server busy.

Connections are spread evenly, and each process works on all data. Response times are merged in
the histograms in which they were counted: percentiles are those of all transactions, never means
of the processes' own.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock

from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    LocalDriver,
    Phase,
    Start,
    Target,
    TransactionCounts,
)
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome

#: The processes' measured intervals may begin so many seconds apart.
MAX_SPREAD_S = 1.0
#: They begin so long after the last of them is ready, in seconds; they ask ten times a second.
_LEAD_S = 0.2
#: Seeds of the processes differ by this: sysbench's threads take the numbers that follow.
_SEED_STEP = 7919


class SeveralProcesses:
    """A `Driver` that runs `count` processes of another side by side.

    They begin when all of them are ready. It measures when all of them do: from the last one's
    beginning to the first one's end.
    """

    def __init__(self, driver: LocalDriver, count: int) -> None:
        self._driver = driver
        self._count = count
        self.name = driver.name
        self.version = f"{driver.version} x{count}"
        self.encrypts = driver.encrypts

    def run(
        self,
        target: Target,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
    ) -> DriverResult:
        """See `protocol.Driver`, but `on_phase` is called from any thread, once at a time.

        The first failure of a process ends the others and is raised.
        """
        parts = split(load, self._count)
        start, give_up = Start(len(parts), lead_s=_LEAD_S), Event()
        reached = _CommonPhases(len(parts), on_phase)
        with ThreadPoolExecutor(len(parts)) as pool:
            drivers = [
                pool.submit(
                    self._driver.run,
                    target,
                    part,
                    work_dir / f"process-{number}",
                    on_phase=reached.by_one,
                    should_stop=lambda: give_up.is_set() or should_stop(),
                    start=start,
                )
                for number, part in enumerate(parts)
            ]
            try:
                ended = wait(drivers, return_when=FIRST_EXCEPTION).done
            finally:  # also for SystemExit of a worker that is stopped
                give_up.set()
        for driver in ended:
            driver.result()
        return _merged([driver.result() for driver in drivers], load.measure_s)


def split(load: Load, count: int) -> list[Load]:
    """Return at most `count` loads with as many connections together, spread evenly.

    What is left over goes to the first of them. Each works on all data.
    """
    count = min(count, load.connections)
    least, more = divmod(load.connections, count)
    return [
        replace(
            load,
            connections=least + (number < more),
            seed=load.seed + number * _SEED_STEP,
        )
        for number in range(count)
    ]


class _CommonPhases:
    """Announces each phase that `count` processes have in common."""

    def __init__(self, count: int, announce: Callable[[Phase], None]) -> None:
        # The last to begin counts, and the first to end.
        self._needed = {Phase.WARMING: count, Phase.MEASURING: count, Phase.STOPPING: 1}
        self._announce = announce
        self._reached: Counter[Phase] = Counter()
        self._first_at: dict[Phase, float] = {}
        self._lock = Lock()

    def by_one(self, phase: Phase) -> None:
        """Note that one process has reached the phase.

        Raises RunFailed if that is long after the first.
        """
        with self._lock:
            now = time.monotonic()
            spread_s = now - self._first_at.setdefault(phase, now)
            if phase is Phase.MEASURING and spread_s > MAX_SPREAD_S:
                text = f"The driver's processes began to measure {spread_s:.1f} s apart."
                raise RunFailed(Outcome.DRIVER_FAILED, text)
            self._reached[phase] += 1
            if self._reached[phase] == self._needed[phase]:
                self._announce(phase)


def _merged(results: Sequence[DriverResult], measure_s: int) -> DriverResult:
    """Join results of several processes: counts added, response times in one histogram."""
    times = ResponseTimes(measure_s)
    for result in results:
        times.merge(result.times)
    return DriverResult(
        measured_seconds=max(result.measured_seconds for result in results),
        times=times,
        counts={kind: _sum([each.counts[kind] for each in results]) for kind in results[0].counts},
        driver_cpu_seconds=sum(result.driver_cpu_seconds for result in results),
        output="\n".join(result.output for result in results),
    )


def _sum(counts: Sequence[TransactionCounts]) -> TransactionCounts:
    return TransactionCounts(
        completed=sum(count.completed for count in counts),
        retried=sum(count.retried for count in counts),
        failed=sum(count.failed for count in counts),
    )
