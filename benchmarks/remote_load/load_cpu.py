"""The load host's spare CPU while it drove: a client without CPU is the limit itself, and one
that stands still for a while makes the server look slow.
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import psutil

from benchmarks.telemetry.conditions import stalled_s

_PERIOD_S = 1.0


@dataclass(frozen=True)
class LoadCpu:
    """CPU shares of the load host in the measured interval, in % of all its CPUs.

    busy_pct: everything but idle and waiting for I/O, other machines' share (steal) included.
    busiest_pct: the same of the CPU that was busiest. steal_pct: the hypervisor's other guests.
    per_second: busy_pct second by second. stalled_s: seconds in which nothing ran there.
    """

    busy_pct: float
    busiest_pct: float
    steal_pct: float
    logical_cpus: int
    stalled_s: float = 0.0
    per_second: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


_Times = list[tuple[float, float, float]]  # total, busy and steal of each CPU, in seconds


class CpuWatch:
    """Context manager: reads the CPUs once a second between `begin` and `end`."""

    def __init__(self) -> None:
        self._readings: list[_Times] = []
        self._at: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load-cpu", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def begin(self) -> None:
        """The measured interval begins."""
        self._take()
        self._thread.start()

    def end(self) -> None:
        """It ends."""
        self._ended.set()
        self._thread.join()
        self._take()

    def found(self) -> LoadCpu | None:
        """None without both ends."""
        if len(self._readings) < 2:
            return None
        first, last = self._readings[0], self._readings[-1]
        busy, steal = _shares(first, last)
        single = [_shares([a], [b])[0] for a, b in zip(first, last, strict=True)]
        steps = zip(self._readings, self._readings[1:], strict=False)
        return LoadCpu(
            busy_pct=busy,
            busiest_pct=max(single),
            steal_pct=steal,
            logical_cpus=len(first),
            stalled_s=round(self.stalled_s(), 2),
            per_second=[round(_shares(a, b)[0], 1) for a, b in steps],
        )

    def stalled_s(self) -> float:
        """Seconds so far in which nothing ran on this host."""
        return stalled_s(self._at, _PERIOD_S)

    def _run(self) -> None:
        following = time.monotonic() + _PERIOD_S
        while not self._ended.wait(max(0.0, following - time.monotonic())):
            self._take()
            following += _PERIOD_S

    def _take(self) -> None:
        self._at.append(time.monotonic())
        self._readings.append(_read())


def _read() -> _Times:
    found = []
    for cpu in psutil.cpu_times(percpu=True):
        idle = cpu.idle + cpu.iowait
        busy = cpu.user + cpu.nice + cpu.system + cpu.irq + cpu.softirq + cpu.steal
        found.append((idle + busy, busy, cpu.steal))
    return found


def _shares(start: _Times, end: _Times) -> tuple[float, float]:
    """Busy and steal in % of the CPU time that passed."""
    total = sum(b[0] - a[0] for a, b in zip(start, end, strict=False))
    if total <= 0:
        return 0.0, 0.0
    busy = sum(b[1] - a[1] for a, b in zip(start, end, strict=False))
    steal = sum(b[2] - a[2] for a, b in zip(start, end, strict=False))
    # The kernel's counters are read one after the other: a part may exceed the whole by a little.
    return _percent(busy, total), _percent(steal, total)


def _percent(part: float, whole: float) -> float:
    return min(100.0, max(0.0, 100.0 * part / whole))
