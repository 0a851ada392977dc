"""`make bench-memory`: what the response times of a day at 20,000 transactions a second take.

Made-up records as tpcc.lua writes them, second by second, are counted as during a run, in a
process that has loaded all that a run needs. Nothing is measured: it takes as long as counting.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import numpy as np

import benchmarks.measurement.measure  # noqa: F401 - all that is in memory during a run
from benchmarks.drivers.sysbench_records import PREFIX, RECORD, RecordCounter
from benchmarks.servers.privileges import give, server_user

#: Resident memory of the process that a run may take in all, in bytes.
BUDGET: Final = 150_000_000
_PER_SECOND: Final = 20_000
_THREADS: Final = 4
_MIX: Final = np.repeat(np.arange(5, dtype=np.uint8), (10, 10, 1, 1, 1))


def main() -> int:
    """Print peak memory, disk and CPU time; 1 if the budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24.0)
    hours: float = parser.parse_args().hours
    seconds = int(hours * 3600)
    before, random = _peak(), np.random.default_rng(5)
    largest, user = 0, server_user()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = Path(name)
        counter = RecordCounter(directory, measure_s=seconds)
        counter.begin(0.0)
        began = time.process_time()
        records = np.zeros(_PER_SECOND // _THREADS, dtype=RECORD)
        for second in range(seconds):
            for thread in range(_THREADS):
                records["ended"] = second + np.linspace(0, 0.999, records.size)
                records["ms"] = random.lognormal(1.5, 1.0, records.size)
                records["kind"] = random.choice(_MIX, records.size)
                path = directory / f"{PREFIX}.{thread}.{second}"
                records.tofile(path)
                give(path, user)  # as whom the driver runs
            largest = max(largest, _THREADS * records.nbytes)
            counter.take()
        used = time.process_time() - began
    counter.end(float(seconds))
    times, peak = counter.new_orders, _peak()
    p95, series = times.percentile(95), len(times.p95_per_second())
    total = sum(found.completed for found in counter.counts().values())
    print(f"{total:,} transactions, {times.count:,} New-Orders in {seconds:,} s")
    print(f"p95 {p95:.3f} ms, longest {times.max_ms:.1f} ms, {series:,} seconds in the series")
    print(f"resident before {before / 1e6:.0f} MB, at most {peak / 1e6:.0f} MB")
    print(f"on disk at most {largest / 1e6:.2f} MB at a time; {used / seconds:.2%} of one core,")
    print("the making of the records included")
    return int(peak > BUDGET or total != seconds * _PER_SECOND)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
