"""What a search has screened so far, in plain columns, for a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.run_lines import SlotRow
from tuning.results.search import VOID
from tuning.statistics.aim import Aim, missed_texts
from tuning.statistics.data import Metric
from tuning.statistics.rounds import ShortRun, mean_ratio, round_ratios

# Before so many runs of the baseline nothing is said of its limits.
_MIN_BASELINES = 2


@dataclass(frozen=True)
class Searched:
    """What a search has screened: `best` has the best ratio of `metric` to the baseline's of its
    round so far, which is a lucky figure more often than not; "" while there is none.

    raced: how many were taken into a race, which decides by new runs; 0 while it screens.
    missed: the limits that the baseline itself misses, as `p95 <= 50 ms: 61.2 ms in 3 runs`.
    """

    tried: int
    rounds: int
    metric: Metric
    best: str = ""
    ratio: float | None = None
    raced: int = 0
    missed: tuple[str, ...] = ()


def searched_so_far(slots: Sequence[SlotRow], aim: Aim) -> Searched:
    """From the slots of a study that searches for `aim` on one device with one workload."""
    metric = aim.objective
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    known = round_ratios([ShortRun(s.block, s.is_baseline, s.figure(metric)) for s in there])
    ratios: dict[str, list[float]] = {}
    for slot, ratio in zip(there, known, strict=True):
        if not slot.is_baseline and ratio is not None:
            ratios.setdefault(slot.name, []).append(ratio)
    tried = {s.name for s in there if not s.is_baseline and s.is_finished and s.state not in VOID}
    rounds = len({slot.block for slot in there})
    raced = {s.name for s in slots if s.purpose == SlotPurpose.BLOCK and not s.is_baseline}
    missed = _missed_by_the_baseline(slots, aim)
    if not ratios:
        return Searched(len(tried), rounds, metric, raced=len(raced), missed=missed)
    found = {name: mean_ratio(values) for name, values in ratios.items()}
    best = (max if metric.more_is_better else min)(found, key=lambda name: found[name])
    return Searched(len(tried), rounds, metric, best, found[best], len(raced), missed)


def _missed_by_the_baseline(slots: Sequence[SlotRow], aim: Aim) -> tuple[str, ...]:
    """By its median so far. Whoever asked for a limit that nothing may keep can stop then."""
    if not aim.keep:
        return ()
    seen = [s.observation for s in slots if s.is_baseline and s.state == RunState.OK]
    return missed_texts(aim, seen) if len(seen) >= _MIN_BASELINES else ()
