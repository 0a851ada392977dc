"""A study's current run, second by second, from one query for plain columns."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.models import Run, RunState
from benchmarks.telemetry.live import LiveSecond

# Of so many seconds the current figure is the mean: a single one jumps.
_MEAN_OF = 10


@dataclass(frozen=True)
class LiveRun:
    """The run that is driven now; `seconds` are those of its last minute, oldest first."""

    run: int
    candidate: str
    warmup_s: int
    measure_s: int
    seconds: list[LiveSecond]

    @property
    def tpmP(self) -> float | None:
        """New-Orders per minute, by the newest seconds."""
        return current_tpmP(self.seconds)

    @property
    def newest(self) -> LiveSecond:
        return self.seconds[-1]


def live_run(study_id: int) -> LiveRun | None:
    """None while nothing is driven."""
    columns = "pk", "slot__candidate__name", "workload__warmup_s", "workload__measure_s", "live"
    driven = Run.objects.filter(slot__study=study_id, state=RunState.RUNNING, live__isnull=False)
    for run, candidate, warmup_s, measure_s, live in driven.values_list(*columns):
        if live:
            seconds = [LiveSecond.from_json(one) for one in live]
            return LiveRun(run, candidate, warmup_s, measure_s, seconds)
    return None


def current_tpmP(seconds: list[LiveSecond]) -> float | None:
    """New-Orders per minute, by the newest of these seconds; None if they say nothing of it."""
    seen = [one.new_orders for one in seconds[-_MEAN_OF:] if one.new_orders is not None]
    return 60 * sum(seen) / len(seen) if seen else None
