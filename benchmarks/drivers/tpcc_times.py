"""The response times from tpcc_start's `-f` file, without those of the ramp-up.

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

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.workplace import open_result

#: How much of the file is looked at at a time.
_CHUNK: Final = 1 << 20
_MAX_LINE: Final = 1 << 16


def measured_response_times(path: Path, *, completed: int, measure_s: int) -> ResponseTimes:
    """Return the times of the `completed` measured New-Orders.

    The file is read twice, in pieces: that of a day can be larger than the memory. Raises
    ValueError when it does not hold that many or cannot be read as numbers.
    """
    lines = before_the_end = 0
    for second, _ in _pieces(path):
        lines += second.size
        before_the_end += int(np.count_nonzero(second < measure_s))
    if lines < completed:
        raise ValueError(
            f"The response times are not complete: {lines} lines for {completed} New-Orders."
        )
    end = max(completed, before_the_end)
    times = ResponseTimes(measure_s)
    passed = 0
    for second, response_ms in _pieces(path):
        measured = slice(max(0, end - completed - passed), max(0, end - passed))
        times.add(response_ms[measured], np.minimum(second[measured], measure_s - 1))
        passed += second.size
    return times


def _pieces(path: Path) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]:
    try:
        with open_result(path) as file:
            rest = b""
            while read := file.read(_CHUNK):
                whole, newline, rest = (rest + read).rpartition(b"\n")
                if len(rest) > _MAX_LINE:
                    raise ValueError("a line has no end")
                yield _numbers(whole + newline)
            yield _numbers(rest)
    except (OSError, ValueError) as error:
        raise ValueError(f"The response times cannot be read: {error}") from error


def _numbers(text: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    numbers = np.array(text.split(), dtype=np.float64)
    if numbers.size % 2:
        raise ValueError("a line is cut off")
    return numbers[0::2].astype(np.int64), numbers[1::2]
