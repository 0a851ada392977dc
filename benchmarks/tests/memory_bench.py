"""`make bench-memory`: what the response times of a day at 20,000 transactions a second take.

Made-up records as tpcc.lua writes them, second by second, are counted as during a run, in a
process that has loaded all that a run needs. Nothing is measured: it takes as long as counting.
A few seconds are made up and come again and again, so that the exact percentiles are known.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import benchmarks.measurement.measure  # noqa: F401 - all that is in memory during a run
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.sysbench_records import PREFIX, RECORD, RecordCounter, Records
from benchmarks.servers.privileges import ServerUser, give, server_user

#: Resident memory of the process that a run may take in all, in bytes.
BUDGET: Final = 150_000_000
#: By how much a percentile may be wrong (docs/statistics.md): a share of it, and ms.
_SHARE: Final = 1e-4
_MS: Final = 1e-3
_PER_SECOND: Final = 20_000
_THREADS: Final = 4
_MIX: Final = np.repeat(np.arange(5, dtype=np.uint8), (10, 10, 1, 1, 1))
#: So many different seconds are made up.
_MADE_UP: Final = 7


def main() -> int:
    """Print memory over time, its peak, disk, CPU time and percentiles; 1 if any is wrong.

    One that is stopped prints what it has.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0)
    hours: float = parser.parse_args().hours
    seconds = int(hours * 3600)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    made_up, before, user, done = _made_up(), _peak(), server_user(), 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        counter = RecordCounter(Path(name), measure_s=seconds)
        counter.begin(0.0)
        began = time.process_time()
        with suppress(KeyboardInterrupt):
            for second in range(seconds):
                _write(Path(name), made_up[second % _MADE_UP], second, user)
                counter.take()
                done = second + 1
                if done % 3600 == 0:
                    print(f"{done // 3600:3} h: {_resident() / 1e6:.1f} MB resident", flush=True)
        used = time.process_time() - began
    counter.end(float(seconds))
    peak, times = _peak(), counter.new_orders
    total = sum(found.completed for found in counter.counts().values())
    print(f"{total:,} transactions, {times.count:,} New-Orders in {done:,} of {seconds:,} s")
    print(f"resident before {before / 1e6:.0f} MB, at most {peak / 1e6:.0f} MB")
    size = made_up[0].nbytes
    print(f"on disk at most {size / 1e6:.2f} MB at a time; {used / max(done, 1):.2%} of one core,")
    print("the writing of the records included")
    right = _percentiles_are_right(times, made_up, done)
    return int(not right or peak > BUDGET or total != seconds * _PER_SECOND)


def _made_up() -> list[Records]:
    """Some seconds of transactions; when each ended is counted from the second's beginning."""
    random, made = np.random.default_rng(5), []
    for _ in range(_MADE_UP):
        records = np.zeros(_PER_SECOND, dtype=RECORD)
        records["ended"] = np.tile(np.linspace(0, 0.999, _PER_SECOND // _THREADS), _THREADS)
        records["ms"] = random.lognormal(1.5, 1.0, _PER_SECOND)
        records["kind"] = random.choice(_MIX, _PER_SECOND)
        made.append(records)
    return made


def _write(directory: Path, records: Records, second: int, user: ServerUser | None) -> None:
    """As the threads of the driver do, which runs as that user."""
    written = records.copy()
    written["ended"] += second
    for thread, part in enumerate(np.split(written, _THREADS)):
        path = directory / f"{PREFIX}.{thread}.{second}"
        part.tofile(path)
        give(path, user)


def _percentiles_are_right(times: ResponseTimes, made_up: Sequence[Records], done: int) -> bool:
    """Print each beside the exact one; whether all are within what is promised."""
    new_orders = [records["ms"][records["kind"] == 0] for records in made_up]
    rounds, more = divmod(done, _MADE_UP)
    weights = [rounds + (place < more) for place in range(_MADE_UP)]
    ms = np.concatenate(new_orders).astype(float)
    weight = np.repeat(weights, [part.size for part in new_orders])
    right = times.count == int(weight.sum()) and times.max_ms == float(ms[weight > 0].max())
    for percent in (50, 95, 99):
        exact, found = _nearest_rank(ms, weight, percent), times.percentile(percent)
        print(f"p{percent} {found:.4f} ms, exactly {exact:.4f} ms ({found / exact - 1:+.4%})")
        right &= abs(found - exact) <= max(_SHARE * exact, _MS)
    return right


def _nearest_rank(
    ms: npt.NDArray[np.floating], weight: npt.NDArray[np.integer], percent: int
) -> float:
    """The time that `percent` % do not exceed, of times that came `weight` times each."""
    order = np.argsort(ms)
    up_to = np.cumsum(weight[order])
    rank = -(-int(up_to[-1]) * percent // 100)
    return float(ms[order][int(np.searchsorted(up_to, rank))])


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
