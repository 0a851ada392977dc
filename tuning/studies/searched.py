"""What a search has looked at so far, in plain columns, for a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.searched import VOID
from tuning.studies.slot_states import SlotState


@dataclass(frozen=True)
class Searched:
    """What a search has looked at: `best` has the highest ratio of tpmP to the baseline's of its
    round so far, which is a lucky figure more often than not; "" while there is none.
    """

    tried: int
    rounds: int
    best: str = ""
    ratio: float | None = None


def searched_so_far(slots: Sequence[SlotState]) -> Searched:
    """From the slots of a study that searches on one device with one workload."""
    there = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    baseline = next((slot.name for slot in there if slot.is_baseline), "")
    figures: dict[int, list[float]] = {}
    for slot in there:
        if slot.is_baseline and slot.state == RunState.OK and slot.tpmP:
            figures.setdefault(slot.block, []).append(slot.tpmP)
    ratios: dict[str, list[float]] = {}
    for slot in there:
        beside = figures.get(slot.block)
        if slot.name != baseline and slot.state == RunState.OK and slot.tpmP and beside:
            ratios.setdefault(slot.name, []).append(slot.tpmP / mean(beside))
    tried = {slot.name for slot in there if slot.is_finished and slot.state not in VOID}
    tried -= {baseline}
    rounds = len({slot.block for slot in there})
    if not ratios:
        return Searched(len(tried), rounds)
    found = {name: mean(values) for name, values in ratios.items()}
    best = max(found, key=lambda name: found[name])
    return Searched(len(tried), rounds, best, found[best])
