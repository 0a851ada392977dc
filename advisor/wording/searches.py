"""The phases of a search in words."""

from __future__ import annotations

from tuning.models import Slot, SlotPurpose
from tuning.statistics.data import Metric

METRIC_NAMES = {
    Metric.TPMP: "tpmP",
    Metric.P95: "p95 response time",
    Metric.SERVER_PATH_LENGTH: "server path length",
}
BASELINE, GIVEN, EXPLORE, REPEAT, RACE, CONFIRM = (
    "baseline",
    "given",
    "explore",
    "repeat",
    "race",
    "confirm",
)
WHY = {
    BASELINE: "The baseline, which is measured in every round for comparison.",
    GIVEN: "A given config: the search starts with the template's candidates and your files.",
    EXPLORE: "A new config, measured in one short run.",
    REPEAT: "A promising config, measured again because one run may be luck.",
    RACE: "One of the best few, which race against the baseline in randomised blocks.",
    CONFIRM: "The winner of the race, measured again in fresh pairs with the baseline.",
}


def phase_of(slot: Slot, was_measured: bool) -> str:
    """A key of WHY."""
    if slot.purpose == SlotPurpose.CONFIRMATION:
        return CONFIRM
    if slot.purpose == SlotPurpose.BLOCK:
        return RACE
    if slot.candidate.is_baseline:
        return BASELINE
    if was_measured:
        return REPEAT
    return EXPLORE if slot.candidate.found_by_search else GIVEN
