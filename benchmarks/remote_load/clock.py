"""How far two hosts' clocks are apart, by request and answer as in NTP.

The load host asks the measured server for its time over the driver's own way, and notes when it
asked and when it had the answer, by its monotonic clock. The server read its clock somewhere in
between: half the round trip is the largest error. Of several tries the fastest counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

_TRIES = 12


@dataclass(frozen=True)
class ClockReading:
    """`offset_s` is the server host's time of day (seconds since 1970) less the load host's
    monotonic clock; `round_trip_s` is how long the fastest answer took.
    """

    offset_s: float
    round_trip_s: float

    @property
    def error_s(self) -> float:
        """The largest error of the offset."""
        return self.round_trip_s / 2


def read_clock(ask: Callable[[], datetime], *, tries: int = _TRIES) -> ClockReading:
    """Ask the other host for its time (UTC without a zone) several times."""
    found: list[ClockReading] = []
    for _ in range(tries):
        asked = time.monotonic()
        said = ask().replace(tzinfo=UTC).timestamp()
        answered = time.monotonic()
        found.append(ClockReading(said - (asked + answered) / 2, answered - asked))
    return min(found, key=lambda reading: reading.round_trip_s)


def time_of_day_less_monotonic() -> float:
    """This host's two clocks; it changes only when the time of day is set."""
    before = time.monotonic()
    now = time.time()
    return now - (before + time.monotonic()) / 2
