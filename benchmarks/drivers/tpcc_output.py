"""Reads what tpcc_start prints: the counters, never the exit status, say how a run went.

Facts of tpcc-mysql at 1ec1c5e: the exit status is 0 even when no connection could be made, the
totals "(sum ver.)" are exact while the plain ones are counted by all threads without a lock,
averages without a single transaction are printed as `-nan`, and every failed attempt writes two
lines to standard error, `where` and `number, state, message`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.drivers.protocol import ReportedSecond, TransactionCounts
from benchmarks.drivers.workloads import TPCC_TRANSACTIONS

_INTERVAL = re.compile(r"^\s*(\d+), trx: (\d+), 95%:\s*(\d+(?:\.\d+)?)?")
_TOTAL = re.compile(r"^\s*\[([0-4])\] sc:(\d+)\s+lt:(\d+)\s+rt:(-?\d+)\s+fl:(\d+)\s*$")
_ERROR = re.compile(r"^(\d{4}), [0-9A-Z]{5}, (.*)$")
#: Messages can name keys: of more different ones than this only the first are counted.
_MAX_MESSAGES = 100


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
            self.intervals.append(int(interval[2]))
            if interval[3]:
                self.newest = ReportedSecond(
                    len(self.intervals), self.intervals[-1], float(interval[3])
                )
        elif self._in_totals and (total := _TOTAL.match(line)):
            kind, in_time, late, retried, failed = (int(number) for number in total.groups())
            self.counts[TPCC_TRANSACTIONS[kind]] = TransactionCounts(
                in_time + late, retried, failed
            )
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
        """The message that standard error repeated most, or an empty string."""
        return self.errors.most_common(1)[0][0] if self.errors else ""

    @classmethod
    def parse(cls, text: str, errors: str = "") -> TpccOutput:
        """Parse whole texts at once."""
        output = cls()
        for line in text.splitlines():
            output.feed(line)
        for line in errors.splitlines():
            output.feed_error(line)
        return output
