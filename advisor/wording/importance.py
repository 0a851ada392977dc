"""How much knobs matter to a search, in words that pages and terminal share."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.formatting import change_range, confidence_text, percent_change
from advisor.wording.spaces import knob_text
from benchmarks.counted import counted
from tuning.strategy.search.importance import MIN_CONFIGS, Importance, KnobEffect

TOO_FEW = "too few runs to tell"


@dataclass(frozen=True)
class KnobLine:
    """One knob: its share as `41 %`, its best value, the change that it makes, and how sure."""

    name: str
    share: str
    best: str
    change: str
    seen: str
    is_known: bool


def knob_lines(found: Importance) -> list[KnobLine]:
    """The most important come first."""
    return [_line(one, found.runs) for one in found.knobs]


def importance_note(found: Importance) -> str:
    """Name the runs behind the model, or say that there are too few."""
    if not found.knobs:
        return (
            f"How much each variable matters: {TOO_FEW}. {found.configs} configs have a result, "
            f"and it takes {MIN_CONFIGS}."
        )
    together = f"{found.together * 100:.0f} %"
    return (
        f"From a model of {found.runs} short runs of {found.configs} configs over the whole "
        f"search space. Combinations of variables make {together} of the variation. This is a "
        "hint where to look, not evidence."
    )


def _line(one: KnobEffect, of: int) -> KnobLine:
    values = counted(one.values, "value")
    seen = f"{values}; other than the most frequent one in {one.runs} of {of} runs"
    if one.share is None or one.estimate is None:
        return KnobLine(one.name, "–", "–", TOO_FEW, seen, is_known=False)
    share = f"{one.share * 100:.0f} %" if one.share >= 0.005 else "under 1 %"
    best, worst = knob_text(one.name, one.best), knob_text(one.name, one.worst)
    found = one.estimate
    bounds = change_range(*found.bounds)
    spread = f"{confidence_text(found.confidence)}: {bounds}"
    change = f"{percent_change(found.ratio)} from {worst} to {best} ({spread})"
    if not one.is_known:
        change += "; may be nothing"
    return KnobLine(one.name, share, best if one.is_known else "–", change, seen, one.is_known)
