"""Usage of other programs during a run, and the limits that applied to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.wording.formatting import ABSENT, significant
from benchmarks.models import Run
from benchmarks.telemetry.disturbance import MIN_STALL_S


@dataclass(frozen=True)
class Condition:
    """`value` in `unit`; `limit` is None if there is none, 0 if the check is switched off.

    `by` names the programs that used most.
    """

    name: str
    value: float
    limit: float | None
    unit: str
    is_over: bool
    by: str

    @property
    def limit_text(self) -> str:
        if self.limit is None:
            return ABSENT
        return significant(self.limit) if self.limit else "off"


# Name, figure, limit, unit, figure of the programs, and kind of disturbance.
LINES = (
    ("Steal time", "steal_pct", "steal_pct", "%", "", "steal"),
    (
        "CPU use by other programs",
        "foreign_cpu_pct",
        "foreign_cpu_pct",
        "%",
        "by_cpu",
        "foreign_cpu",
    ),
    ("Disk use by other programs", "foreign_io_pct", "foreign_io_pct", "%", "by_io", "foreign_io"),
    ("Disk traffic of other programs", "foreign_io_mb_s", "", "MB/s", "", ""),
    ("Host stalled", "stalled_s", "", "s", "", "stall"),
    ("Suspended", "asleep_s", "", "s", "", "suspended"),
    ("Swapping", "swap_mb_s", "swap_mb_s", "MB/s", "", "swap"),
    ("Drop in CPU clock rate", "slower_clock_pct", "slower_clock_pct", "%", "", "slower_clock"),
    ("Thermal throttling", "throttled_pct", "throttled_pct", "%", "", "throttled"),
    ("Tasks waiting for a CPU", "cpu_wait_pct", "", "% of the time", "", ""),
    ("Tasks waiting for I/O", "io_wait_pct", "", "% of the time", "", ""),
    ("Tasks waiting for memory", "memory_wait_pct", "", "% of the time", "", ""),
)


def conditions_of(run: Run) -> list[Condition]:
    """The figures that the host reported; a run from before they were recorded has none."""
    seen: Mapping[str, Any] = run.conditions
    limits: Mapping[str, float] = seen.get("limits", {})
    broken = {found["kind"] for found in run.disturbances}
    return [
        Condition(
            name=name,
            value=seen[figure],
            limit=_limit(figure, limit, limits, seen),
            unit=unit,
            is_over=kind in broken,
            by=", ".join(f"{program} {amount:g}" for program, amount in seen.get(by, [])),
        )
        for name, figure, limit, unit, by, kind in LINES
        if seen.get(figure) is not None
    ]


def _limit(
    figure: str, name: str, limits: Mapping[str, float], seen: Mapping[str, Any]
) -> float | None:
    if figure == "stalled_s" and "stall_pct" in limits:
        # The limit is a share of the interval; less than a second never counts.
        share = limits["stall_pct"] / 100 * seen["seconds"]
        return max(share, MIN_STALL_S) if share else 0.0
    return limits.get(name)
