"""The phases of a search in words."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.counted import counted
from tuning.models import SlotPurpose
from tuning.results.document import CandidateFacts, EarlierStudies, Search

# The four purposes for which a search runs a config.
EXPLORE, REPEAT, CONFIRM, ABLATE = "explore", "repeat", "confirm", "test each line"


def warm_start_text(found: EarlierStudies | None) -> str:
    """Describe the start of a search, in a sentence; "" for nothing."""
    if found is None:
        return ""
    runs, configs = counted(found.runs, "run"), counted(found.configs, "config")
    *first, last = map(str, found.studies)
    studies = f"studies {', '.join(first)} and {last}" if first else f"study {last}"
    return (
        f"Starts with the best of {configs} ({runs}) of {studies} on this kind of device, if any "
        "look better than the baseline; their figures are in no ranking."
    )


def tried_text(found: Search, *, is_finished: bool) -> str:
    """How many configs were measured in short runs and how many were not, in a sentence."""
    said = [f"{counted(len(found.tried), 'config')} measured{'' if is_finished else ' so far'}"]
    said += [f"{found.refused} refused by the gate or the server"] if found.refused else []
    if found.duplicates:
        said.append(f"{found.duplicates} with the same effective values as another")
    return f"{', '.join(said)}."


@dataclass(frozen=True)
class Phase:
    """Purpose of a run: one of the four words, and the reason in a sentence."""

    word: str
    why: str


BASELINE = Phase(EXPLORE, "The baseline, which is measured in every round for comparison.")
GIVEN = Phase(
    EXPLORE,
    "A given config: the search starts with the template's candidates and your files.",
)
NEW = Phase(EXPLORE, "A new config, measured in one short run.")
AGAIN = Phase(REPEAT, "A promising config, measured again because one run may be luck.")
RACE = Phase(
    REPEAT,
    "The race: the best few are measured again with the baseline, in randomised blocks.",
)
PAIR = Phase(
    CONFIRM,
    "The winner of the race, measured again in fresh pairs with the baseline.",
)
ABLATION = Phase(
    ABLATE,
    "The confirmed winner beside itself without some of its lines: which of them matter?",
)
REDUCED = Phase(
    ABLATE,
    "The winner without the lines that contribute nothing, in fresh rounds with the winner and "
    "the baseline.",
)


def phase_of(purpose: str, candidate: CandidateFacts, was_measured: bool) -> Phase:
    """Return the purpose of a run; `was_measured`: its config has an earlier run."""
    if purpose == SlotPurpose.CONFIRMATION:
        return PAIR
    if purpose == SlotPurpose.ABLATION:
        return ABLATION
    if purpose == SlotPurpose.REDUCED:
        return REDUCED
    if purpose == SlotPurpose.BLOCK:
        return RACE
    if candidate.is_baseline:
        return BASELINE
    if was_measured:
        return AGAIN
    return NEW if candidate.found_by_search else GIVEN
