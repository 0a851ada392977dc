"""Values to test, derived from a probe."""

from __future__ import annotations

from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import ProbeResult

#: innodb_io_capacity's own lower limit.
_MIN_LOW = 100
#: MySQL's default up to 8.0: no device is so slow that a lower value would be worth trying.
_MIN_HIGH = 200


def suggested_io_capacity(result: ProbeResult) -> tuple[int, int]:
    """The lowest and the highest innodb_io_capacity worth testing on the probed device.

    innodb_io_capacity is how many pages per second InnoDB means to flush in the background. The
    probe's random 16 KB writes per second, W (the best over all queue depths, direct where that
    works, else flushed), are pages too:

    - high = W / 2. With the doublewrite buffer on, as D0 asks, each flushed page is written
      twice; and a flush rate that takes the whole device leaves nothing for reads and the log.
      More cannot be flushed, so asking for more only empties the buffer pool of dirty pages
      earlier, each page being written again soon.
    - low = W / 40, a twentieth of that. The published optimum lies inside: 15000 on an NVMe rated
      at 120000 random writes per second (of 4 KB), one eighth, where more hurt throughput
      (whitepaper, Figure 11 and Table 4). On a device of 20000 the range is 500 to 10000.

    Bounds: never below 100, the variable's minimum, and never high below 200, its old default:
    a disk of 190 writes per second gets (100, 200). Both are rounded to 1, 1.5, 2, 3, 5 or 7 times
    a power of ten. They are ends of a sweep, not advice: the sweep decides.
    Raises ValueError for a result without random writes.
    """
    writes = result.best(Pattern.RANDOM_WRITE)
    if not writes:
        raise ValueError("the probe has no random writes")
    high = max(_MIN_HIGH, _round(writes / 2))
    low = min(max(_MIN_LOW, _round(writes / 40)), high // 2)
    return low, high


def _round(value: float) -> int:
    """The nearest of 1, 1.5, 2, 3, 5, 7 times a power of ten."""
    power = 1
    while value >= 10 * power:
        power *= 10
    steps = [round(step * power) for step in (1, 1.5, 2, 3, 5, 7, 10)]
    return min(steps, key=lambda step: abs(step - value))
