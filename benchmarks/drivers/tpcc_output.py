"""Reads what tpcc_start prints and writes: counters and response times, not the exit status.

Facts of tpcc-mysql at 1ec1c5e: the exit status is 0 even when no connection could be made, the
totals "(sum ver.)" are exact while the plain ones are counted by all threads without a lock,
averages without a single transaction are printed as `-nan`, and every failed attempt writes two
lines to standard error, `where` and `number, state, message`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.drivers.program import open_result
from benchmarks.drivers.protocol import ReportedSecond, TransactionCounts
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.workloads import TPCC_TRANSACTIONS

_INTERVAL = re.compile(r"^\s*(\d+), trx: (\d+), 95%:\s*(\d+(?:\.\d+)?)?")
_TOTAL = re.compile(r"^\s*\[([0-4])\] sc:(\d+)\s+lt:(\d+)\s+rt:(-?\d+)\s+fl:(\d+)\s*$")
_ERROR = re.compile(r"^(\d{4}), [0-9A-Z]{5}, (.*)$")
#: Messages can name keys: of more different ones than this only the first are counted.
_MAX_MESSAGES = 100
#: How much of the file of response times is looked at at a time.
_CHUNK: Final = 1 << 20
_MAX_LINE: Final = 1 << 16


@dataclass
class TpccOutput:
    """State of a run by its lines so far; `feed` takes the next line."""

    ramp_up_started: bool = False
    measuring_started: bool = False
    finished: bool = False
    lost_threads: int = 0
    intervals: list[int] = field(default_factory=list)
    newest: ReportedSecond | None = None
    counts: dict[str, TransactionCounts] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    connection_lost: str = ""
    _in_totals: bool = False

    def feed(self, line: str) -> None:
        """Take one line of standard output."""
        # Not line.startswith: "STOPPING THREADS" has no line end before what is printed next.
        self.lost_threads += line.count("error at thread_main")
        if line.startswith("RAMP-UP TIME"):
            self.ramp_up_started = True
        elif line.startswith("MEASURING START"):
            self.measuring_started = True
        elif line.startswith("<"):
            self._in_totals = line.startswith("<Raw Results2(sum ver.)>")
        elif interval := _INTERVAL.match(line):
            completed = int(interval[2])
            self.intervals.append(completed)
            if interval[3]:
                number = len(self.intervals)
                self.newest = ReportedSecond(number, completed, float(interval[3]))
        elif self._in_totals and (total := _TOTAL.match(line)):
            kind, in_time, late, retried, failed = map(int, total.groups())
            counts = TransactionCounts(in_time + late, retried, failed)
            self.counts[TPCC_TRANSACTIONS[kind]] = counts
        elif line.rstrip().endswith(" TpmC"):
            self.finished = len(self.counts) == len(TPCC_TRANSACTIONS)

    def feed_error(self, line: str) -> None:
        """Take one line of standard error."""
        if not (error := _ERROR.match(line)):
            return
        text = f"{error[1]}, {error[2]}"
        if text in self.errors or len(self.errors) < _MAX_MESSAGES:
            self.errors[text] += 1
        # Errors of the client library itself have numbers from 2000 on. tpcc_start does not
        # connect again: that connection only counts failures from now on, or never existed, and
        # the load is no longer the requested one.
        if error[1].startswith("2") and not self.connection_lost:
            self.connection_lost = text

    def commonest_error(self) -> str:
        """Return the message that standard error repeated most, or an empty string."""
        return self.errors.most_common(1)[0][0] if self.errors else ""


def measured_response_times(path: Path, *, completed: int, measure_s: int) -> ResponseTimes:
    """Return the times of the `completed` measured New-Orders from tpcc_start's `-f` file.

    Each completed New-Order writes a line `time_count response_ms` when it ends. `time_count` is 0
    from the start of the program on and grows at the end of each interval. With `-i 1` it is:

    * 0 before every New-Order of the ramp-up *and* of the first measured second,
    * k before those of measured second k + 1,
    * N (the measured seconds) before those still running when measuring stopped, which tpcc_start
      no longer counts.

    The lines are in order of completion and the counted ones follow each other without a gap. They
    are therefore the last ones before the first N. Only if there are too few such lines (a
    New-Order may end between the tick of the clock and the end of counting) do lines marked N make
    up the number.

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
