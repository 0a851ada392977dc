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
        self._snapshot, self._commits, self._reported = snapshot, commits, reported
        self._commits_each, self._tell = commits_each, tell
        self._seconds: deque[LiveSecond] = deque(maxlen=MAX_SECONDS)
        self._seen: Snapshot | None = None
        self._counted: tuple[float, int] | None = None
        self._heard: ReportedSecond | None = None
        self._looked = float("-inf")

    def look(self) -> None:
        """Add the second that has passed; may be called at any time and as often as one likes."""
        now = time.monotonic()
        if self.measuring_at is None or now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        before, counted_before, heard_before = self._seen, self._counted, self._heard
        seen, counted, heard = self._snapshot(), self._commits(), self._reported()
        if seen is None or (before is not None and seen.t <= before.t):
            return
        self._seen, self._counted, self._heard = seen, counted, heard
        if before is None:
            return
        completed = p95_ms = None
        if heard is not None and heard != heard_before:
            completed, p95_ms = float(heard.completed), heard.p95_ms
        elif self._commits_each and counted and counted_before and counted[0] > counted_before[0]:
            rate = (counted[1] - counted_before[1]) / (counted[0] - counted_before[0])
            completed = round(rate / self._commits_each, 1)
        usage = usage_between(before, seen) if seen.cpu_total_s > before.cpu_total_s else None
        cpu_pct = round(usage.cpu_user_pct + usage.cpu_sys_pct, 1) if usage else None
        second = math.floor(seen.t - self.measuring_at)
        self._seconds.append(LiveSecond(second, completed, p95_ms, cpu_pct))
        self._tell(list(self._seconds))
