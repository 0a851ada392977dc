"""The time series of a run, one entry a second, from the sampler's snapshots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from benchmarks.telemetry.snapshot import Snapshot
from benchmarks.telemetry.usage import USAGE_FIGURES, Usage, usage_between


@dataclass(frozen=True, slots=True)
class Second:
    """From `second` to `second + 1`, in seconds after the start of the measured interval.

    Negative seconds are warm-up. `elapsed_s` is the true time between the two samples. `usage` is
    None where the host missed a sample: that second was not seen, and the work done in it is not
    spread over its neighbours. `server_rss_bytes` is mysqld's resident memory at the end.
    `completed` and `p95_ms` (of their response times) come from the driver and `commits` from the
    server, None outside of the measured interval.
    """

    second: int
    elapsed_s: float | None = None
    usage: Usage | None = None
    server_rss_bytes: int | None = None
    completed: int | None = None
    commits: int | None = None
    p95_ms: float | None = None

    def as_row(self) -> dict[str, float | int | None]:
        """All values under one name each, the same names in every row, ready for JSON."""
        row = asdict(self)
        return row | (row.pop("usage") or dict.fromkeys(USAGE_FIGURES))


def build_series(
    snapshots: Iterable[Snapshot], origin: float, *, period_s: float = 1.0
) -> list[Second]:
    """Seconds between snapshots that lie on neighbouring ticks of the grid `origin + n * period`.

    Each snapshot belongs to its nearest tick, of two on one tick the nearer counts. A tick without
    a snapshot makes the seconds around it entries without usage. `period_s` other than 1 is for
    tests.
    """
    on_tick: dict[int, Snapshot] = {}
    for snapshot in snapshots:
        periods = (snapshot.t - origin) / period_s
        tick = math.floor(periods + 0.5)
        rival = on_tick.get(tick)
        if rival is None or abs(periods - tick) < abs((rival.t - origin) / period_s - tick):
            on_tick[tick] = snapshot
    ticks = sorted(on_tick)
    series = []
    for tick, following in pairwise(ticks):
        if following == tick + 1:
            series.append(_second(tick, on_tick[tick], on_tick[following]))
        else:
            series.extend(Second(missed) for missed in range(tick, following))
    return series


def merged(series: Iterable[Second], **per_second: Sequence[Any]) -> list[Second]:
    """The series with these values, by field, of each measured second from second 0 on.

    Seconds that telemetry has not are added.
    """
    by_second = {entry.second: entry for entry in series}
    for name, values in per_second.items():
        for second, value in enumerate(values):
            entry = by_second.get(second, Second(second))
            by_second[second] = replace(entry, **{name: value})
    return [by_second[second] for second in sorted(by_second)]


def _second(tick: int, start: Snapshot, end: Snapshot) -> Second:
    return Second(
        second=tick,
        elapsed_s=end.t - start.t,
        usage=usage_between(start, end),
        server_rss_bytes=end.server_rss_bytes,
    )
