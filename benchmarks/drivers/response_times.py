"""The exact response times from tpcc_start's `-f` file, without those of the ramp-up.

Each completed New-Order writes a line `time_count response_ms` when it ends. `time_count` is 0
from the start of the program on and grows by the interval at the end of each interval, so that
with `-i 1`, as we run it:

* 0 stands before every New-Order of the ramp-up *and* of the first measured second,
* k before those of measured second k + 1,
* N (the measured seconds) before those still running when measuring stopped, which tpcc_start
  no longer counts.

The lines are in order of completion and the counted ones follow each other without a gap, while
their number is known exactly: it is the sum of `sc` and `lt` of New-Order. They are therefore the
last ones before the first N. Only should there be too few of those (a New-Order may end
between the tick of the clock and the end of counting) do lines marked N make up the number.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.drivers.protocol import Milliseconds


def measured_response_times(
    path: Path, *, completed: int, measure_s: int
) -> tuple[Milliseconds, list[int]]:
    """Response times in ms, second by second, and New-Orders per second of the `completed`
    measured New-Orders.

    Raises ValueError when the file does not hold that many or cannot be read as numbers.
    """
    try:
        numbers = np.fromfile(path, dtype=np.float64, sep=" ")
    except (OSError, ValueError) as error:
        raise ValueError(f"The response times cannot be read: {error}") from error
    if numbers.size % 2 or numbers.size // 2 < completed:
        raise ValueError(
            f"The response times are not complete: {numbers.size // 2} lines"
            f" for {completed} New-Orders."
        )
    second, response_ms = numbers[0::2].astype(np.int64), numbers[1::2]
    end = max(completed, int(np.count_nonzero(second < measure_s)))
    measured = slice(end - completed, end)
    in_second = np.minimum(second[measured], measure_s - 1)
    return second_by_second(response_ms[measured], in_second, measure_s=measure_s)


def second_by_second(
    response_ms: Milliseconds, second: NDArray[np.int64], *, measure_s: int
) -> tuple[Milliseconds, list[int]]:
    """Response times in the order of the seconds (0 to `measure_s` - 1) that they ended in, and
    how many there are in each. Connections finish side by side: they come in any order.
    """
    per_second = np.bincount(second, minlength=measure_s)
    in_order = np.argsort(second, kind="stable")
    return response_ms[in_order], [int(count) for count in per_second]
