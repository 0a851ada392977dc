"""Several processes of one driver as one: where a single one cannot keep the server busy.

Connections are spread evenly, and each process works on all data. Response times are merged in
the histograms in which they were counted: percentiles are those of all transactions, never means
of the processes' own.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

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
_POLL_S = 0.1
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
        """See `protocol.Driver`. The first failure of a process ends the others and is
        raised.
        """
        parts = split(load, self._count)
        together = Start(len(parts), lead_s=_LEAD_S)
        news: queue.Queue[tuple[int, Phase | DriverResult | BaseException]] = queue.Queue()
        give_up = threading.Event()

        def one(number: int, part: Load) -> None:
            try:
                found: DriverResult | BaseException = self._driver.run(
                    target,
                    part,
                    work_dir / f"process-{number}",
                    on_phase=lambda phase: news.put((number, phase)),
                    should_stop=give_up.is_set,
                    start=together,
                )
            except BaseException as failure:
                found = failure
            news.put((number, found))

        threads = [
            threading.Thread(target=one, args=(number, part), name=f"driver-{number}")
            for number, part in enumerate(parts)
        ]
        for thread in threads:
            thread.start()
        try:
            results = _follow(news, len(parts), on_phase, should_stop)
        finally:
            give_up.set()
            for thread in threads:
                thread.join()
        return _merged(results, load.measure_s)


def split(load: Load, count: int) -> list[Load]:
    """At most `count` loads with as many connections together, spread evenly.

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


def _follow(
    news: queue.Queue[tuple[int, Phase | DriverResult | BaseException]],
    count: int,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> list[DriverResult]:
    """Announce the common phases; the results when all have ended."""
    reached: dict[Phase, int] = dict.fromkeys(Phase, 0)
    first_at = 0.0
    results: dict[int, DriverResult] = {}
    # The last to begin counts, and the first to end.
    needed = {Phase.WARMING: count, Phase.MEASURING: count, Phase.STOPPING: 1}
    while len(results) < count:
        if should_stop():
            raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")
        try:
            number, found = news.get(timeout=_POLL_S)
        except queue.Empty:
            continue
        if isinstance(found, BaseException):
            raise found
        if isinstance(found, DriverResult):
            results[number] = found
            continue
        reached[found] += 1
        if found is Phase.MEASURING:
            now = time.monotonic()
            first_at = first_at or now
            if now - first_at > MAX_SPREAD_S:
                raise RunFailed(
                    Outcome.DRIVER_FAILED,
                    f"The driver's processes began to measure {now - first_at:.1f} s apart.",
                )
        if reached[found] == needed[found]:
            on_phase(found)
    return [results[number] for number in range(count)]


def _merged(results: Sequence[DriverResult], measure_s: int) -> DriverResult:
    """Join results of several processes: counts added, response times in one histogram."""
    times = ResponseTimes(measure_s)
    for result in results:
        times.merge(result.times)
    kinds = results[0].counts
    return DriverResult(
        measured_seconds=max(result.measured_seconds for result in results),
        times=times,
        counts={kind: _summed([one.counts[kind] for one in results]) for kind in kinds},
        driver_cpu_seconds=sum(result.driver_cpu_seconds for result in results),
        output="\n".join(result.output for result in results),
    )


def _summed(counts: Sequence[TransactionCounts]) -> TransactionCounts:
    return TransactionCounts(
        completed=sum(one.completed for one in counts),
        retried=sum(one.retried for one in counts),
        failed=sum(one.failed for one in counts),
    )
