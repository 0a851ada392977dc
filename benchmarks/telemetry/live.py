"""The last minute of a run while it is driven, for people who watch it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.drivers.protocol import ReportedSecond
from benchmarks.telemetry.snapshot import Snapshot
from benchmarks.telemetry.usage import usage_between

MAX_SECONDS = 60
_LOOK_EVERY_S = 1.0


class LiveSecond(NamedTuple):
    """About one second of a run, as it is seen while the run goes on; stored as a list.

    `second` is counted from the start of the measured interval, below 0 in the warm-up.
    `completed` per second: the driver's own count where there is a `p95_ms`, else estimated from
    the server's commits. `cpu_pct` is user and sys of the whole host, 0..100.
    """

    second: int
    completed: float | None
    p95_ms: float | None
    cpu_pct: float | None


class LiveSeconds:
    """Keeps the last MAX_SECONDS and hands all of them to `tell` about once a second.

    `snapshot` and `commits` give the newest of what is read anyway, `reported` what the driver has
    said of the newest measured second, None where it says nothing before its end. `commits_each`
    is `Workload.commits`. `measuring_at` is when the measured interval begins, in seconds of the
    monotonic clock: planned while the driver warms up, None before.
    """

    def __init__(
        self,
        snapshot: Callable[[], Snapshot | None],
        commits: Callable[[], tuple[float, int] | None],
        *,
        commits_each: float,
        reported: Callable[[], ReportedSecond | None],
        tell: Callable[[list[LiveSecond]], None],
    ) -> None:
        self.measuring_at: float | None = None
        self._snapshot, self._commits = snapshot, commits
        self._reported, self._tell = reported, tell
        self._commits_each = commits_each
        self._seconds: deque[LiveSecond] = deque(maxlen=MAX_SECONDS)
        self._seen: Snapshot | None = None
        self._counted: tuple[float, int] | None = None
        self._last_number = 0
        self._looked = float("-inf")

    def look(self) -> None:
        """Add the second that has passed; may be called at any time and as often as one likes."""
        now = time.monotonic()
        if self.measuring_at is None or now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        seen, before = self._snapshot(), self._seen
        if seen is None or (before is not None and seen.t <= before.t):
            return
        completed, p95_ms = self._completed()
        self._seen = seen
        if before is None:
            return
        cpu = None
        if seen.cpu_total_s > before.cpu_total_s:
            usage = usage_between(before, seen)
            cpu = round(usage.cpu_user_pct + usage.cpu_sys_pct, 1)
        second = math.floor(seen.t - self.measuring_at)
        self._seconds.append(LiveSecond(second, completed, p95_ms, cpu))
        self._tell(list(self._seconds))

    def _completed(self) -> tuple[float | None, float | None]:
        """Return the transactions per second and their p95 since the last look."""
        reported, counted, before = self._reported(), self._commits(), self._counted
        self._counted = counted
        if reported is not None and reported.number != self._last_number:
            self._last_number = reported.number
            return float(reported.completed), reported.p95_ms
        if not self._commits_each or not counted or not before or counted[0] <= before[0]:
            return None, None
        rate = (counted[1] - before[1]) / (counted[0] - before[0])
        return round(rate / self._commits_each, 1), None
