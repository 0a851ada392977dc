"""What a search does, in words."""

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
    BASELINE: "The baseline, in every round: what the others are compared with.",
    GIVEN: "It was given: the search begins with the template's candidates and your files.",
    EXPLORE: "A new config, measured once and briefly.",
    REPEAT: "It looks good, and one run may be luck: it is measured once more.",
    RACE: "One of the best few: they race with the baseline in randomised blocks.",
    CONFIRM: "The winner of the race, measured afresh in pairs with the baseline.",
}


def phase_of(slot: Slot, was_looked_at: bool) -> str:
    """A key of WHY."""
    if slot.purpose == SlotPurpose.CONFIRMATION:
        return CONFIRM
    if slot.purpose == SlotPurpose.BLOCK:
        return RACE
    if slot.candidate.is_baseline:
        return BASELINE
    if was_looked_at:
        return REPEAT
    return EXPLORE if slot.candidate.found_by_search else GIVEN
