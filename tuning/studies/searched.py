"""What a search has looked at so far, in plain columns, for a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from tuning.models import SlotPurpose
from tuning.results.searched import VOID
from tuning.statistics.data import Metric
from tuning.studies.slot_states import SlotState


@dataclass(frozen=True)
class Searched:
    """What a search has looked at: `best` has the best ratio of `metric` to the baseline's of its
    round so far, which is a lucky figure more often than not; "" while there is none.
    """

    tried: int
    rounds: int
    metric: Metric
    best: str = ""
    ratio: float | None = None


def searched_so_far(slots: Sequence[SlotState], metric: Metric) -> Searched:
    """From the slots of a study that searches on one device with one workload for `metric`."""
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    figures: dict[int, list[float]] = {}
    for slot in there:
        if slot.is_baseline and (figure := slot.figure(metric)) is not None:
            figures.setdefault(slot.block, []).append(figure)
    ratios: dict[str, list[float]] = {}
    for slot in there:
        beside, figure = figures.get(slot.block), slot.figure(metric)
        if not slot.is_baseline and beside and figure is not None:
            ratios.setdefault(slot.name, []).append(figure / mean(beside))
    tried = {s.name for s in there if not s.is_baseline and s.is_finished and s.state not in VOID}
    rounds = len({slot.block for slot in there})
    if not ratios:
        return Searched(len(tried), rounds, metric)
    found = {name: mean(values) for name, values in ratios.items()}
    best = (max if metric.more_is_better else min)(found, key=lambda name: found[name])
    return Searched(len(tried), rounds, metric, best, found[best])
